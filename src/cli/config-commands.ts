/** Defines the commands about a configuration: its mistakes, its routes, and the messages of its receivers. */
import { Option } from 'commander';
import { acts, actsOnConfig, type CommandLine } from './command-options.ts';

export function addConfigCommands(line: CommandLine): void {
  for (const add of [
    addCheckConfig,
    addConfig,
    addRoutes,
    addTestReceiver,
    addRender,
    addSchema,
    addCompletion,
    addHashPassword,
    addInit,
  ])
    add(line);
}

function addRoutes(line: CommandLine): void {
  const routes = line.program.command('routes').description('show or test the route tree of a configuration');
  actsOnConfig(
    line,
    routes.command('show', { isDefault: true }).description('print the tree as amtool prints it'),
    async () => (await import('./commands/routes-command.ts')).routesShow,
  );
  actsOnConfig(
    line,
    routes
      .command('test')
      .description('print the receivers that alerts with these labels reach')
      .argument('[label...]', 'name=value'),
    async () => (await import('./commands/routes-command.ts')).routesTest,
  );
}

function addConfig(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('config')
      .description('show the effective configuration')
      .command('show', { isDefault: true })
      .description('print it with all defaults and without secrets'),
    async () => (await import('./commands/config-command.ts')).configShow,
  );
}

function addCheckConfig(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('check-config')
      .description('report every mistake in a configuration as file:line:column: path: what')
      .argument('[file...]', 'default: as for --config.file of run')
      .option('--online', 'also test tokens, mail servers and whether other receivers can be reached')
      .option('--strict', 'exit 3 when there are warnings'),
    async () => (await import('./commands/check-config-command.ts')).checkConfig,
  );
}

function addTestReceiver(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('test-receiver')
      .description(
        'send a sample through every integration of a receiver; exit 4 unless all recipients accept it',
      )
      .argument('<name>', 'the receiver')
      .option('--resolved', 'send the resolved message: ends the incident that an earlier sample opened')
      .option('--dry-run', 'print what would be sent'),
    async () => (await import('./commands/test-receiver-command.ts')).testReceiver,
  );
}

function addRender(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('render')
      .description("print what a receiver's integrations, or one template, make of a sample; nothing is sent")
      .argument('[receiver]', 'the receiver; leave it out with --template')
      .option('--resolved', 'as if the alert were resolved')
      .option('--template <file>', 'a file with one Liquid template')
      .addOption(
        new Option('--use <use>', 'what the template is for: it decides how values are escaped')
          .choices(['text', 'html', 'slack', 'json'])
          .default('text'),
      ),
    async () => (await import('./commands/test-receiver-command.ts')).render,
  );
}

function addSchema(line: CommandLine): void {
  acts(
    line,
    line.program.command('schema').description("print the configuration's JSON Schema, for editors"),
    async () => (await import('./commands/config-command.ts')).schema,
  );
}

function addHashPassword(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('hash-password')
      .description('print the hash of a password for `web.auth.users`; it is asked for, or read from stdin'),
    async () => (await import('./commands/config-command.ts')).printPasswordHash,
  );
}

function addCompletion(line: CommandLine): void {
  const { program } = line;
  acts(
    line,
    program
      .command('completion')
      .description('print a completion script for a shell')
      .argument('<shell>', 'bash, zsh or fish'),
    async () => {
      const { completion } = await import('./upkeep/completion-command.ts');
      return (edge, shell: string) => completion(edge, program, shell);
    },
  );
}

function addInit(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('init')
      .description('write an annotated first configuration to ./nestwatch.yaml; it never overwrites one')
      .option('--stdout', 'print it instead')
      .option('--guided', 'ask for a region, a token and a receiver, test each, and write what works'),
    async () => {
      const { guidedInit, init } = await import('./guided/guided-init.ts');
      return (edge, given: { readonly stdout: boolean; readonly guided: boolean }) =>
        given.guided ? guidedInit(edge) : init(edge, given);
    },
  );
}
