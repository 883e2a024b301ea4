/** How a connection is made, and what a request says of who asks: what people configure for one user of HTTP. */
import type { Secret } from '../secret.ts';

export interface ConnectionSettings {
  readonly tls?: TlsSettings;
  readonly proxy?: ProxySettings;
}

/** Texts in PEM; those from files are read at each use. */
export interface TlsSettings {
  /** Who may have signed the certificate of the other side, in place of the authorities that Node knows. */
  readonly ca?: Secret;
  /** What is shown to the other side; both or none. */
  readonly cert?: Secret;
  readonly key?: Secret;
  /** The name that the certificate must have, in place of the host's. */
  readonly serverName?: string;
  /** Takes any certificate. */
  readonly insecureSkipVerify: boolean;
  readonly minVersion?: TlsVersion;
  readonly maxVersion?: TlsVersion;
}

/** What a server shows, in PEM; files are read at each use. */
export interface ServerTls {
  readonly cert: Secret;
  readonly key: Secret;
  readonly minVersion?: TlsVersion;
}

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** Addresses are secrets: they may hold the proxy's user and password. */
export interface ProxySettings {
  /** For addresses that begin with http:// and https://; absent where those go directly. */
  readonly http?: Secret;
  readonly https?: Secret;
  /** Hosts that are asked directly, as Go writes them; absent where all go through the proxy, this machine too. */
  readonly noProxy?: string;
}

export interface HttpSettings extends ConnectionSettings {
  readonly credentials?: Credentials;
  /** Further headers, by names in lower case; those with several values are sent as one, joined with `, `. */
  readonly headers: readonly HeaderSetting[];
  /** Whether a redirect that keeps method and body (307, 308) is followed. */
  readonly followRedirects: boolean;
}

export interface HeaderSetting {
  readonly name: string;
  readonly values: readonly { readonly text: Secret; readonly isSecret: boolean }[];
}

export type Credentials =
  | { readonly kind: 'authorization'; readonly type: string; readonly credentials?: Secret }
  | { readonly kind: 'basic'; readonly username?: Secret; readonly password?: Secret }
  | ({ readonly kind: 'oauth2' } & Oauth2Settings);

/** The client credentials of OAuth 2 (RFC 6749, 4.4). */
export interface Oauth2Settings {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly tokenUrl: Secret;
  readonly scopes: readonly string[];
  readonly endpointParams: ReadonlyMap<string, string>;
  /** Of the way to `tokenUrl`, which has nothing of the others'. */
  readonly connection: ConnectionSettings;
}
