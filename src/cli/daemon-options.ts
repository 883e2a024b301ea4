import { type Command, Option } from 'commander';

/** What commander read. */
export type Given = Readonly<Record<string, string | boolean | undefined>>;

/** Adds the options that say where the running daemon is. */
export function daemonOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--config.file <file>',
        'default: $NESTWATCH_CONFIG, ./nestwatch.yaml, /etc/nestwatch/nestwatch.yaml',
      ),
    )
    .addOption(new Option('--url <url>', "the daemon's address; default: from the configuration"))
    .addOption(new Option('--token-file <file>', 'with --url: the file with its bearer token'));
}

export function daemonOptionsOf(given: Given) {
  const text = (value: Given[string]) => (typeof value === 'string' ? value : undefined);
  return {
    configFile: text(given['config.file']),
    url: text(given.url),
    tokenFile: text(given.tokenFile),
    json: given.json === true,
  };
}
