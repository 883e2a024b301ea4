import { type BlockList, isIP } from 'node:net';
import { NestwatchError } from '../errors.ts';

const HOLDS_LOGIN = 'must not hold a user name or password';

/** What is wrong with a URL for requests, without quoting it; undefined when it is valid. */
export function mistakeInUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    return 'must be a URL that begins with http:// or https://';
  }
  if (/\{\{|\}\}/.test(text)) return 'must not hold `{{` or `}}`: an address takes no template';
  return url.username || url.password ? HOLDS_LOGIN : undefined;
}

/** The same for an address that has an `http_config` beside it. */
export function mistakeInHttpUrl(text: string): string | undefined {
  const mistake = mistakeInUrl(text);
  return mistake === HOLDS_LOGIN ? `${HOLDS_LOGIN}: use \`http_config.basic_auth\`` : mistake;
}

/** The same for a base URL, to which paths are appended. */
export function mistakeInBaseUrl(text: string): string | undefined {
  const mistake = mistakeInUrl(text);
  if (mistake) return mistake;
  const { search, hash } = new URL(text);
  return search || hash ? 'must end with its path: nothing after `?` or `#`' : undefined;
}

export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}

/** Whether requests to this host never leave the machine. An IPv6 address may have brackets, as in a URL. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|::1|\[::1\]|127(?:\.\d+){3})$/.test(host);
}

export const NOT_ESCAPED = 'has a `%` that begins no escape: write `%25` for it';

/** Whether every `%` in a part of an address begins a valid escape, so that the part can be decoded. */
export function isEscaped(part: string): boolean {
  try {
    decodeURIComponent(part);
    return true;
  } catch {
    return false;
  }
}

export interface HostPort {
  /** Empty if only a port is given; an IPv6 address has no brackets. */
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port`, `[::1]:port` or `:port`; undefined for anything else. */
export function parseHostPort(text: string): HostPort | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/.exec(text);
  if (!match) return undefined;
  const port = Number(match[3]);
  return port > 65_535 ? undefined : { host: match[1] ?? match[2] ?? '', port };
}

/** What is wrong with what `parseHostPort` does not read, or has the port 0 where there must be another. */
export function mistakeInHostPort(text: unknown, example: string, leastPort = 0): string {
  const port = typeof text === 'string' ? /^[^\s/]*:(\d+)$/.exec(text)?.[1] : undefined;
  const isPort = port === undefined || (Number(port) >= leastPort && Number(port) <= 65_535);
  return isPort ? `must be host:port, such as ${example}` : `the port must be from ${leastPort} to 65535`;
}

export function formatHostPort({ host, port }: HostPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Says why a server cannot listen there, by Node's error. */
export function listenError(place: HostPort, error: unknown): NestwatchError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const why =
    code === 'EADDRINUSE'
      ? 'another process listens there'
      : code === 'EACCES'
        ? 'this user may not listen there'
        : `the address cannot be used (${String(code)})`;
  return new NestwatchError('port_in_use', `Cannot listen on ${formatHostPort(place)}: ${why}.`, {
    cause: error,
  });
}

/** An address, which is a range of one, or a range such as 10.1.0.0/16. */
interface AddressRange {
  readonly network: string;
  readonly family: 'ipv4' | 'ipv6';
  /** How many of the leading bits all addresses of the range share. */
  readonly bits: number;
}

/** Undefined for anything else. */
export function parseRange(text: string): AddressRange | undefined {
  const [, network = '', prefix] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(network);
  const most = family === 4 ? 32 : 128;
  const bits = prefix === undefined ? most : Number(prefix);
  if (family === 0 || bits > most) return undefined;
  return { network, family: family === 4 ? 'ipv4' : 'ipv6', bits };
}

export function addRange(list: BlockList, { network, family, bits }: AddressRange): void {
  list.addSubnet(network, bits, family);
}
