/** Decides which proxy a request goes through, by the rules of Go's `httpproxy`, which Alertmanager uses. */
import { BlockList, isIP } from 'node:net';
import type { ProxySettings } from './http-settings.ts';
import { addRange, parseRange } from './web-address.ts';

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
