/** Which proxy a request goes through, as Go's `httpproxy` decides it, whose words Alertmanager's users write. */
import { BlockList, isIP } from 'node:net';
import type { ProxySettings } from './http-settings.ts';

/** The proxy's address, a secret; undefined for a target that is asked directly. */
export function proxyFor(target: URL, { http, https, noProxy }: ProxySettings): string | undefined {
  const proxy = target.protocol === 'https:' ? https : http;
  if (!proxy || (noProxy !== undefined && isDirect(target, noProxy))) return undefined;
  return proxy.reveal();
}

/**
 * Whether a list of hosts names the target: by `*`, a domain (`example.com`, and all below it), what lies below one
 * (`.example.com`), an address, a range (`10.0.0.0/8`), each but the last with or without a port. With any list, be it
 * empty, this machine itself is asked directly.
 */
function isDirect(target: URL, noProxy: string): boolean {
  const host = target.hostname.toLowerCase().replace(/^\[|\]$|\.$/g, '');
  const port = target.port || (target.protocol === 'https:' ? '443' : '80');
  if (host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))) return true;
  return noProxy
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => entry !== '' && names(entry, host, port));
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

/** An address as a URL writes it: of version 6 there are many ways. One with a zone stands in no URL. */
function asInUrl(address: string): string | undefined {
  return isIP(address) === 6 ? URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) : address;
}

function isInRange(host: string, range: string): boolean {
  const family = isIP(host);
  const [network = '', prefix = ''] = range.split('/');
  if (family === 0 || isIP(network) !== family || !/^\d{1,3}$/.test(prefix)) return false;
  if (Number(prefix) > (family === 4 ? 32 : 128)) return false;
  const name = family === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), name);
  return list.check(host, name);
}
