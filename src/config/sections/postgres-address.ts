/** Reads `store.url` of a store on PostgreSQL, as libpq does. */
import { isEscaped, NOT_ESCAPED } from '../../http/web-address.ts';

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

export interface PostgresHost {
  /** A name, an address, or the directory of the server's socket. */
  readonly host: string;
  readonly port: number;
}

export interface PostgresAddress {
  /** Of several, the first that answers and is no standby is used. */
  readonly hosts: readonly PostgresHost[];
  readonly user: string;
  readonly database: string;
  readonly sslmode: (typeof SSL_MODES)[number];
  /** A file with trusted certificates; undefined means those of the system. */
  readonly sslrootcert: string | undefined;
  /** Files with a certificate of the user and its key; undefined for none. */
  readonly sslcert: string | undefined;
  readonly sslkey: string | undefined;
  /** The address as shown to people. */
  readonly shown: string;
}

/** The query parameters that an address may have. */
const PARAMETERS: readonly string[] = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'];
const DEFAULT_PORT = 5432;

export function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url);
}

/** The address, or what is wrong with it, as the end of a sentence that begins with its key. */
export function readPostgresAddress(text: string): PostgresAddress | string {
  const [, before = '', list = '', after = ''] = /^(\w+:\/\/(?:[^/@]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  const all = list.includes(',') ? list.split(',').map((one) => before + one + after) : [text];
  const read = all.map(readOne);
  const mistake = read.find((one) => typeof one === 'string');
  if (mistake !== undefined) return mistake;
  const addresses = read as readonly OneAddress[];
  const { host, port, isEncrypted, ...same } = addresses[0]!;
  const hosts = addresses.map((one) => ({ host: one.host, port: one.port }));
  const named = hosts.map((one) => `${one.host.startsWith('/') ? '' : one.host}:${one.port}`);
  return {
    ...same,
    hosts,
    // Connections that leave the machine are encrypted, and the server's identity is verified.
    sslmode: same.sslmode ?? (addresses.some((one) => one.isEncrypted) ? 'verify-full' : 'disable'),
    shown: `postgres://${same.user}@${named.join(',')}/${same.database}`,
  };
}

/** An address with one of its hosts. */
interface OneAddress extends PostgresHost, Omit<PostgresAddress, 'hosts' | 'shown' | 'sslmode'> {
  /** Undefined if none is given. */
  readonly sslmode: PostgresAddress['sslmode'] | undefined;
  /** By default. */
  readonly isEncrypted: boolean;
}

function readOne(text: string): OneAddress | string {
  const url = URL.canParse(withHost(text)) ? new URL(withHost(text)) : undefined;
  if (!url) return 'must look like postgres://user@host/database';
  if (url.password !== '') return 'must not hold the password: give `password_file` beside it';
  const parts = [url.username, url.pathname.slice(1), url.hostname];
  if (!parts.every(isEscaped)) return NOT_ESCAPED;
  const [user, database, host] = parts.map(decodeURIComponent) as [string, string, string];
  if (user === '' || database === '' || database.includes('/')) {
    return 'must name a user and a database: postgres://user@host/database';
  }
  const unknown = [...url.searchParams.keys()].find((key) => !PARAMETERS.includes(key));
  if (unknown !== undefined) return `has a parameter that is not known; known here: ${PARAMETERS.join(', ')}`;
  const wanted = url.searchParams.get('sslmode');
  const sslmode = SSL_MODES.find((mode) => mode === wanted);
  if (wanted !== null && !sslmode)
    return `has an sslmode that is not known; known here: ${SSL_MODES.join(', ')}`;
  const named = url.searchParams.get('host') ?? host.replace(/^\[(.*)\]$/, '$1');
  if (named === NO_HOST)
    return 'must name a host, or the directory of a socket: postgres://user@/database?host=/run/postgresql';
  const [sslrootcert, sslcert, sslkey] = ['sslrootcert', 'sslcert', 'sslkey'].map(
    (name) => url.searchParams.get(name) ?? undefined,
  );
  if ((sslcert === undefined) !== (sslkey === undefined))
    return 'must name both sslcert and sslkey, or neither';
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  const isEncrypted = !isLocal(named) || sslcert !== undefined;
  return { host: named, port, user, database, sslmode, sslrootcert, sslcert, sslkey, isEncrypted };
}

const NO_HOST = 'none.invalid';

/** A socket's address has no host, and most parsers refuse such a URL. */
function withHost(text: string): string {
  return text.replace(/^(postgres(?:ql)?:\/\/[^/@]*@)(?=[:/])/, `$1${NO_HOST}`);
}

function isLocal(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.');
}
