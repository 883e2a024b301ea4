/** Determines which store a command is about: the configured one, or one given as an option. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../config/config.ts';
import {
  isPostgres,
  type PostgresAddress,
  readPostgresAddress,
  storeAt,
  storeShape,
} from '../../config/sections/store-section.ts';
import { codeOf, NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { secret } from '../../secret.ts';
import type { StorePlace } from '../../store/copy/copy-store.ts';
import { type ConfigOptions, findConfigFile, secretInFile } from '../config-file.ts';
import { configOf } from '../read-config.ts';

interface GivenStore {
  /** The name used in messages: the option that gives `url`. */
  readonly named: string;
  /** Undefined for the configured one. */
  readonly url?: string | undefined;
  readonly schema?: string | undefined;
  readonly passwordFile?: string | undefined;
}

/**
 * Throws `usage` for an invalid address, and `ConfigError`. The configured password, schema and timeout of a server
 * are only used for the same user and database there.
 */
export function storePlace(edge: Edge, options: ConfigOptions, given: GivenStore): StorePlace {
  const { named } = given;
  const isTyped = given.url !== undefined;
  const config = isTyped && !isPostgres(given.url) ? undefined : configured(edge, options, isTyped);
  const url = given.url ?? config!.store.url;
  if (!isPostgres(url)) {
    if (given.schema === undefined && given.passwordFile === undefined) return { url };
    throw new NestwatchError('usage', `${named} names a file: a schema and a password are those of a server`);
  }
  const address = readPostgresAddress(url);
  if (typeof address === 'string') {
    const option = named.startsWith('--') ? `${named}-password-file` : '--password-file';
    const mistake = address.replace('`password_file` beside it', option);
    throw new NestwatchError('usage', `${named} ${mistake}`);
  }
  const own = config?.store.postgres;
  const known = own && isSameServer(own, address) ? own : undefined;
  const password =
    given.passwordFile === undefined ? known?.password : secret(secretInFile(given.passwordFile));
  return {
    url,
    postgres: storeAt(address, {
      password: password ?? null,
      schema: schemaOf(given) ?? known?.schema,
      statementTimeoutMs: known?.statementTimeoutMs,
    }),
  };
}

/** For the same user and database. */
function isSameServer(one: PostgresAddress, other: PostgresAddress): boolean {
  return one.shown === other.shown && isDeepStrictEqual(one.hosts, other.hosts);
}

/** With `isOptional`, returns undefined if no file is given and none is found. */
function configured(edge: Edge, options: ConfigOptions, isOptional: boolean): Config | undefined {
  try {
    findConfigFile(edge, options);
  } catch (error) {
    if (isOptional && codeOf(error) === 'usage') return undefined;
    throw error;
  }
  return configOf(edge, options);
}

function schemaOf({ named, schema }: GivenStore): string | undefined {
  const read = storeShape.shape.schema.safeParse(schema);
  if (read.success) return read.data;
  throw new NestwatchError('usage', `the schema of ${named} ${read.error.issues[0]?.message}`);
}
