import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { ConfigError } from '../config/document/problem.ts';
import { ERRORS, NestwatchError } from '../errors.ts';
import type { Edge } from '../process-io.ts';
import { versionText } from '../version.ts';
import { addAlertingCommands } from './alerting-program.ts';
import { daemonOptions, daemonOptionsOf, type Given } from './daemon-options.ts';

const FAILED = 1;
const WRONG_USAGE = 2;
/** Where the terminal does not say how wide it is. */
const HELP_WIDTH = 100;

/**
 * Runs one command and resolves to the process's exit code; it never rejects. Each command's file is loaded when
 * it is asked for, so that `--help` and `healthcheck` do not wait for what only the daemon needs.
 */
export async function runCommandLine(edge: Edge, args: readonly string[]): Promise<number> {
  let exit = 0;
  const program = createProgram(edge, (code) => {
    exit = code;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return exit;
  } catch (error) {
    // Commander has told it already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : WRONG_USAGE;
    return tellFailure(edge, error, args);
  }
}

function createProgram(edge: Edge, finish: (exit: number) => void): Command {
  const program = new Command('nestwatch')
    .description(
      'Monitoring and alerting for Birds and Flights: every failure seen once, told soon, with its reason.',
    )
    .version(versionText(edge.environment), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .option('--log.level <level>', 'debug: with the stack of a failure that nobody foresaw')
    .exitOverride()
    .enablePositionalOptions()
    .configureOutput({
      writeOut: (text) => edge.stdout.write(text),
      writeErr: (text) => edge.stderr.write(text),
      getOutHelpWidth: () => edge.stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => edge.stdout.columns ?? HELP_WIDTH,
      getOutHasColors: () => hasColors(edge),
      getErrHasColors: () => false,
    });
  program.addHelpText(
    'after',
    '\nExit codes: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 warnings under --strict, 4 a delivery or an upstream test failed.',
  );

  const configFile = () =>
    new Option(
      '--config.file <file>',
      'default: $NESTWATCH_CONFIG, ./nestwatch.yaml, /etc/nestwatch/nestwatch.yaml',
    );
  const json = () => new Option('--json', 'print JSON');

  program
    .command('run')
    .description('watch every region and tell what went wrong: the daemon')
    .addOption(configFile())
    .option('--once', 'read every stream once, deliver, and exit')
    .addOption(new Option('--log.level <level>').choices(['debug', 'info', 'warn', 'error']).default('info'))
    .addOption(
      new Option('--log.format <format>', 'default: pretty on a terminal').choices(['json', 'pretty']),
    )
    .action(async (options: Record<string, string | boolean | undefined>) => {
      const { run } = await import('./commands/run-command.ts');
      finish(
        await run(edge, {
          configFile: options['config.file'] as string | undefined,
          once: options.once === true,
          logLevel: options['log.level'] as string,
          logFormat: options['log.format'] as 'json' | 'pretty' | undefined,
        }),
      );
    });

  program
    .command('demo')
    .description('the service in two regions, mail and webhook catchers and the daemon, all on this machine')
    .option('--for <duration>', 'end after this long, with a summary, e.g. 60s')
    .action(async (options: { for?: string }) => {
      const { demo } = await import('./demo/demo-command.ts');
      finish(await demo(edge, { for: options.for }));
    });

  program
    .command('simulate')
    .description('the watched service alone, with every operation of its specification')
    .requiredOption('--listen <host:port>', 'where it listens; port 0 takes a free one')
    .option('--region <name>', 'the region that it plays', 'eu')
    .option('--token <token>', 'the token that it accepts', 'demo-token')
    .option('--seed <n>', 'the same seed gives the same Nests, Birds and chances', wholeNumber, 1)
    .option('--birds <n>', 'how many Birds there are', wholeNumber, 25)
    .option('--faults <file>', 'YAML with how it deviates and fails')
    .action(async (options) => {
      const { simulate } = await import('./commands/simulate-command.ts');
      finish(await simulate(edge, options));
    });

  program
    .command('api')
    .description(
      "call one of the service's 14 operations and print its JSON; `nestwatch api --help` lists them",
    )
    .argument('[operation]', 'e.g. searchBirds, with --nestId and so on')
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .passThroughOptions()
    .action(async (_operation: string | undefined, _options: object, command: Command) => {
      const { api } = await import('./commands/api-command.ts');
      finish(await api(edge, command.args));
    });

  program
    .command('check-config')
    .description('name every mistake of a configuration as file:line:column: path: what')
    .argument('[file...]', 'default: as for --config.file of run')
    .option('--online', 'also try tokens, mail servers and whether other receivers can be reached')
    .option('--strict', 'exit 3 when there are warnings')
    .addOption(json())
    .action(async (files: string[], options: { online?: boolean; strict?: boolean; json?: boolean }) => {
      const { checkConfig } = await import('./commands/check-config-command.ts');
      finish(
        await checkConfig(edge, files, {
          online: options.online === true,
          strict: options.strict === true,
          json: options.json === true,
        }),
      );
    });

  daemonOptions(
    program
      .command('status')
      .description('how the running daemon stands: regions, feeds, alerts, deliveries'),
  )
    .addOption(json())
    .action(async (options: Given) => {
      const { status } = await import('./commands/status-command.ts');
      finish(await status(edge, daemonOptionsOf(options)));
    });

  program
    .command('healthcheck')
    .description('exit 0 when the running daemon is healthy, else 1')
    .addOption(configFile())
    .addOption(new Option('--url <url>', "the daemon's address; default: from the configuration"))
    .addOption(json())
    .action(async (options: Given) => {
      const { healthcheck } = await import('./commands/healthcheck-command.ts');
      finish(await healthcheck(edge, daemonOptionsOf(options)));
    });

  addAlertingCommands(program, edge, finish);

  program
    .command('test-receiver')
    .description('send a sample through every integration of a receiver; exit 4 when one was not accepted')
    .argument('<name>', 'the receiver')
    .addOption(configFile())
    .option('--resolved', 'as if the alert was over: ends the incident that an earlier sample opened')
    .option('--dry-run', 'print what would be sent')
    .addOption(json())
    .action(async (name: string, options: Record<string, string | boolean | undefined>) => {
      const { testReceiver } = await import('./commands/test-receiver-command.ts');
      finish(
        await testReceiver(edge, name, {
          configFile: options['config.file'] as string | undefined,
          resolved: options.resolved === true,
          dryRun: options.dryRun === true,
          json: options.json === true,
        }),
      );
    });

  program
    .command('render')
    .description("print what a receiver's integrations, or one template, make of a sample; nothing is sent")
    .argument('[receiver]', 'the receiver; leave it out with --template')
    .addOption(configFile())
    .option('--resolved', 'as if the alert was over')
    .option('--template <file>', 'a file with one Liquid template')
    .addOption(
      new Option('--use <use>', 'what the template is for: it decides how values are escaped')
        .choices(['text', 'html', 'slack', 'json'])
        .default('text'),
    )
    .addOption(json())
    .action(async (receiver: string | undefined, options: Record<string, string | boolean | undefined>) => {
      const { render } = await import('./commands/render-command.ts');
      finish(
        render(edge, receiver, {
          configFile: options['config.file'] as string | undefined,
          resolved: options.resolved === true,
          template: options.template as string | undefined,
          use: options.use as 'text' | 'html' | 'slack' | 'json',
          json: options.json === true,
        }),
      );
    });

  program
    .command('schema')
    .description("print the configuration's JSON Schema, for editors")
    .action(async () => {
      const { schema } = await import('./commands/schema-command.ts');
      finish(schema(edge));
    });

  program
    .command('completion')
    .description('print a script by which a shell completes the command line')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => {
      const { completion } = await import('./commands/completion-command.ts');
      finish(completion(edge, program, shell));
    });

  program
    .command('init')
    .description('write an annotated first configuration to ./nestwatch.yaml; it never overwrites one')
    .option('--stdout', 'print it instead')
    .action(async (options: { stdout?: boolean }) => {
      const { init } = await import('./commands/init-command.ts');
      finish(await init(edge, { stdout: options.stdout === true }));
    });

  return program;
}

function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

function hasColors(edge: Edge): boolean {
  return edge.stdout.isTTY === true && !edge.environment.NO_COLOR;
}

function tellFailure(edge: Edge, error: unknown, args: readonly string[]): number {
  if (error instanceof NestwatchError) {
    const { exit, help } = ERRORS[error.code];
    const place = error instanceof ConfigError ? '' : 'nestwatch: ';
    edge.stderr.write(`${place}${error.message}\n${help}\n`);
    return exit;
  }
  const message = error instanceof Error ? error.message : String(error);
  const wantsStack = /--log\.level[= ]debug\b/.test(args.join(' '));
  const details = wantsStack && error instanceof Error ? `${error.stack}\n` : '';
  edge.stderr.write(`nestwatch: this should not happen, please report it: ${message}\n${details}`);
  return FAILED;
}
