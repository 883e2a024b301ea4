/** The settings that people configure for one use of HTTP: how to connect, and how to authenticate. */
import type { Secret } from '../secret.ts';

export interface ConnectionSettings {
  readonly tls?: TlsSettings;
  readonly proxy?: ProxySettings;
}

/** Texts in PEM. Those from files are revealed at each use. */
export interface TlsSettings {
  /** Authorities that may sign the peer's certificate, instead of those that Node knows. */
  readonly ca?: Secret;
  /** The certificate shown to the peer; `cert` and `key` are given together or not at all. */
  readonly cert?: Secret;
  readonly key?: Secret;
  /** The name that the certificate must have, instead of the host's. */
  readonly serverName?: string;
  /** The only certificate accepted, whatever name it has, instead of `ca` and `serverName`. Others may follow it. */
  readonly pinned?: Secret;
  /** Accepts any certificate. */
  readonly insecureSkipVerify: boolean;
  readonly minVersion?: TlsVersion;
  readonly maxVersion?: TlsVersion;
}

/** A server's certificate and key in PEM; files are revealed at each use. */
export interface ServerTls {
  readonly cert: Secret;
  readonly key: Secret;
  readonly minVersion?: TlsVersion;
}

export type TlsVersion = 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3';

/** Addresses are secrets because they may contain the proxy's user and password. */
export interface ProxySettings {
  /** For addresses that begin with http:// and https:// respectively; absent if they are reached directly. */
  readonly http?: Secret;
  readonly https?: Secret;
  /** Hosts reached directly, in Go's notation; if absent, all go through the proxy, including this machine. */
  readonly noProxy?: string;
}

export interface HttpSettings extends ConnectionSettings {
  readonly credentials?: Credentials;
  /** More headers, with names in lower case. Several values are sent as one, joined with `, `. */
  readonly headers: readonly HeaderSetting[];
  /** Whether redirects that keep method and body (307, 308) are followed. */
  readonly followRedirects: boolean;
}

export interface HeaderSetting {
  readonly name: string;
  readonly values: readonly (string | Secret)[];
}

export type Credentials =
  | { readonly kind: 'authorization'; readonly type: string; readonly credentials?: Secret }
  | { readonly kind: 'basic'; readonly username?: Secret; readonly password?: Secret }
  | ({ readonly kind: 'oauth2' } & Oauth2Settings);

/** The client credentials grant of OAuth 2 (RFC 6749, 4.4). */
export interface Oauth2Settings {
  readonly clientId: string;
  readonly clientSecret: Secret;
  readonly tokenUrl: string;
  /** The query of that address, such as `?key=…`; empty for none. */
  readonly tokenQuery: Secret;
  readonly scopes: readonly string[];
  readonly endpointParams: ReadonlyMap<string, Secret>;
  /** For `tokenUrl` alone; it inherits nothing from the settings beside it. */
  readonly connection: ConnectionSettings;
}
