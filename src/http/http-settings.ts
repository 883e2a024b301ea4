/** The settings that people configure for one use of HTTP: how to connect, and how to authenticate. */

import { BlockList, isIP } from 'node:net';
import type { Secret } from '../secret.ts';
import { addRange, parseRange } from './web-address.ts';

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

// Decides which proxy a request goes through, by the rules of Go's `httpproxy`, which Alertmanager uses.

/** The proxy's address, which is a secret; undefined for a target that is reached directly. */
export function proxyFor(target: URL, { http, https, noProxy }: ProxySettings): string | undefined {
  const proxy = target.protocol === 'https:' ? https : http;
  if (!proxy || (noProxy !== undefined && isDirect(target, noProxy))) return undefined;
  return proxy.reveal();
}

/**
 * Whether `noProxy` covers the target. An entry is `*`, a domain (`example.com`, includes its subdomains), the
 * subdomains alone (`.example.com`), an address or a range (`10.0.0.0/8`); all but ranges may have a port. With any
 * list, even an empty one, this machine itself is reached directly.
 */
function isDirect(target: URL, noProxy: string): boolean {
  const host = target.hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))) return true;
  return entriesOf(noProxy).some((entry) => names(entry, host, port));
}

function entriesOf(noProxy: string): string[] {
  return noProxy
    .toLowerCase()
    .split(/[,\s]+/)
    .filter((entry) => entry !== '');
}

function names(entry: string, host: string, port: string): boolean {
  if (entry === '*') return true;
  if (entry.includes('/')) return isInRange(host, entry);
  const match = /^\[(.+)\](?::(\d+))?$/.exec(entry) ?? (isIP(entry) ? null : /^([^:]+):(\d+)$/.exec(entry));
  if (match?.[2] !== undefined && match[2] !== port) return false;
  const name = (match?.[1] ?? entry).replace(/^\*(?=\.)/, '');
  if (isIP(name)) return asInUrl(name) === host;
  return name.startsWith('.') ? host.endsWith(name) : host === name || host.endsWith(`.${name}`);
}

/** An address as a URL writes it, since IPv6 has many notations. An address with a zone cannot occur in a URL. */
function asInUrl(address: string): string | undefined {
  return isIP(address) === 6 ? URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) : address;
}

function isInRange(host: string, text: string): boolean {
  const range = parseRange(text);
  if (!range) return false;
  const list = new BlockList();
  addRange(list, range);
  return list.check(host, isIP(host) === 6 ? 'ipv6' : 'ipv4') && isIP(host) !== 0;
}

/** Entries of `noProxy` that are meant as ranges of addresses and are none. */
export function mistakenRanges(noProxy: string): string[] {
  return entriesOf(noProxy).filter((entry) => entry.includes('/') && !parseRange(entry));
}
