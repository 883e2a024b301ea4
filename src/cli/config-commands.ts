/** Defines the commands about a configuration: its mistakes, its routes, and the messages of its receivers. */
import { Option } from 'commander';
import {
  type CommandLine,
  configFileOption,
  daemonOptionsOf,
  type Given,
  jsonOption,
} from './command-options.ts';

export function addRoutes({ program, edge, finish }: CommandLine): void {
  const routes = program.command('routes').description('show or test the route tree of a configuration');
  routes
    .command('show', { isDefault: true })
    .description('print the tree as amtool prints it')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (given: Given) => {
      const { routesShow } = await import('./commands/routes-command.ts');
      finish(await routesShow(edge, daemonOptionsOf(given)));
    });
  routes
    .command('test')
    .description('print the receivers that alerts with these labels reach')
    .argument('[label...]', 'name=value')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (labels: string[], given: Given) => {
      const { routesTest } = await import('./commands/routes-command.ts');
      finish(await routesTest(edge, labels, daemonOptionsOf(given)));
    });
}

export function addConfig({ program, edge, finish }: CommandLine): void {
  program
    .command('config')
    .description('show the effective configuration')
    .command('show', { isDefault: true })
    .description('print it with all defaults and without secrets')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (given: Given) => {
      const { configShow } = await import('./upkeep/config-command.ts');
      finish(configShow(edge, daemonOptionsOf(given)));
    });
}

export function addCheckConfig({ program, edge, finish }: CommandLine): void {
  program
    .command('check-config')
    .description('report every mistake in a configuration as file:line:column: path: what')
    .argument('[file...]', 'default: as for --config.file of run')
    .option('--online', 'also test tokens, mail servers and whether other receivers can be reached')
    .option('--strict', 'exit 3 when there are warnings')
    .addOption(configFileOption())
    .addOption(jsonOption())
    .action(async (files: string[], options: Readonly<Record<string, string | boolean | undefined>>) => {
      const { checkConfig } = await import('./commands/check-config-command.ts');
      const named = options['config.file'];
      finish(
        await checkConfig(edge, typeof named === 'string' ? [named, ...files] : files, {
          online: options.online === true,
          strict: options.strict === true,
          json: options.json === true,
        }),
      );
    });
}

export function addTestReceiver({ program, edge, finish }: CommandLine): void {
  program
    .command('test-receiver')
    .description(
      'send a sample through every integration of a receiver; exit 4 unless all recipients accept it',
    )
    .argument('<name>', 'the receiver')
    .addOption(configFileOption())
    .option('--resolved', 'send the resolved message: ends the incident that an earlier sample opened')
    .option('--dry-run', 'print what would be sent')
    .addOption(jsonOption())
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
}

export function addRender({ program, edge, finish }: CommandLine): void {
  program
    .command('render')
    .description("print what a receiver's integrations, or one template, make of a sample; nothing is sent")
    .argument('[receiver]', 'the receiver; leave it out with --template')
    .addOption(configFileOption())
    .option('--resolved', 'as if the alert were resolved')
    .option('--template <file>', 'a file with one Liquid template')
    .addOption(
      new Option('--use <use>', 'what the template is for: it decides how values are escaped')
        .choices(['text', 'html', 'slack', 'json'])
        .default('text'),
    )
    .addOption(jsonOption())
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
}

export function addSchema({ program, edge, finish }: CommandLine): void {
  program
    .command('schema')
    .description("print the configuration's JSON Schema, for editors")
    .action(async () => {
      const { schema } = await import('./commands/schema-command.ts');
      finish(schema(edge));
    });
}

export function addHashPassword({ program, edge, finish }: CommandLine): void {
  program
    .command('hash-password')
    .description('print the hash of a password for `web.auth.users`; it is asked for, or read from stdin')
    .action(async () => {
      const { printPasswordHash } = await import('./commands/hash-password-command.ts');
      finish(await printPasswordHash(edge));
    });
}

export function addCompletion({ program, edge, finish }: CommandLine): void {
  program
    .command('completion')
    .description('print a completion script for a shell')
    .argument('<shell>', 'bash, zsh or fish')
    .action(async (shell: string) => {
      const { completion } = await import('./commands/completion-command.ts');
      finish(completion(edge, program, shell));
    });
}

export function addInit({ program, edge, finish }: CommandLine): void {
  program
    .command('init')
    .description('write an annotated first configuration to ./nestwatch.yaml; it never overwrites one')
    .option('--stdout', 'print it instead')
    .option('--guided', 'ask for a region, a token and a receiver, test each, and write what works')
    .action(async (options: { stdout?: boolean; guided?: boolean }) => {
      if (options.guided) {
        const { guidedInit } = await import('./guided/guided-init.ts');
        finish(await guidedInit(edge));
        return;
      }
      const { init } = await import('./commands/init-command.ts');
      finish(await init(edge, { stdout: options.stdout === true }));
    });
}
