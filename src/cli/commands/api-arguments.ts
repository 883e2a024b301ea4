import { NestwatchError } from '../../errors.ts';

/** The command line of `api`: its own options, and every other `--name value` as a parameter of the operation. */
export interface ApiArguments {
  readonly operation: string | undefined;
  readonly parameters: Readonly<Record<string, string>>;
  readonly wantsHelp: boolean;
  readonly all: boolean;
  readonly yes: boolean;
  readonly region?: string;
  readonly body?: string;
  readonly baseUrl?: string;
  readonly tokenFile?: string;
  readonly configFile?: string;
}

const FLAGS = {
  '--all': 'all',
  '--yes': 'yes',
  '-y': 'yes',
  '--help': 'wantsHelp',
  '-h': 'wantsHelp',
} as const;
const VALUES = {
  '--region': 'region',
  '--body': 'body',
  '--base-url': 'baseUrl',
  '--token-file': 'tokenFile',
  '--config.file': 'configFile',
} as const;

/** Throws `usage` for an option without a value and for a second operation. */
export function readApiArguments(args: readonly string[]): ApiArguments {
  const flags = { all: false, yes: false, wantsHelp: false };
  const values: { -readonly [Key in (typeof VALUES)[keyof typeof VALUES]]?: string } = {};
  const parameters = new Map<string, string>();
  let operation: string | undefined;
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at]!;
    if (!arg.startsWith('-')) {
      if (operation !== undefined)
        throw new NestwatchError('usage', `one operation at a time: ${operation} or ${arg}`);
      operation = arg;
      continue;
    }
    if (isKey(FLAGS, arg)) {
      flags[FLAGS[arg]] = true;
      continue;
    }
    const equals = arg.indexOf('=');
    const name = equals < 0 ? arg : arg.slice(0, equals);
    if (!/^--\w/.test(name))
      throw new NestwatchError('usage', `there is no option ${arg}: parameters begin with --`);
    const value = equals < 0 ? args[++at] : arg.slice(equals + 1);
    // A value that starts with two hyphens probably is the next option. `--name=--value` is possible.
    if (value === undefined || (equals < 0 && value.startsWith('--')))
      throw new NestwatchError('usage', `${name} needs a value`);
    if (isKey(VALUES, name)) values[VALUES[name]] = value;
    else if (parameters.has(name.slice(2))) throw new NestwatchError('usage', `${name} is given twice`);
    else parameters.set(name.slice(2), value);
  }
  return { operation, parameters: Object.fromEntries(parameters), ...flags, ...values };
}

function isKey<T extends object>(table: T, key: PropertyKey): key is keyof T {
  return Object.hasOwn(table, key);
}
