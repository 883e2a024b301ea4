/** Defines the commands about a configuration: its mistakes, its routes, and the messages of its receivers. */
import { Option } from 'commander';
import { acts, actsOnConfig, type CommandLine } from './command-options.ts';

export function addRoutes(line: CommandLine): void {
  const routes = line.program.command('routes').description('show or test the route tree of a configuration');
  actsOnConfig(
    line,
    routes.command('show', { isDefault: true }).description('print the tree as amtool prints it'),
    async (edge, given) => (await import('./commands/routes-command.ts')).routesShow(edge, given),
  );
  actsOnConfig(
    line,
    routes
      .command('test')
      .description('print the receivers that alerts with these labels reach')
      .argument('[label...]', 'name=value'),
    async (edge, given, labels: string[]) =>
      (await import('./commands/routes-command.ts')).routesTest(edge, labels, given),
  );
}

export function addConfig(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('config')
      .description('show the effective configuration')
      .command('show', { isDefault: true })
      .description('print it with all defaults and without secrets'),
    async (edge, given) => (await import('./upkeep/config-command.ts')).configShow(edge, given),
  );
}

export function addCheckConfig(line: CommandLine): void {
  actsOnConfig(
    line,
    line.program
      .command('check-config')
      .description('report every mistake in a configuration as file:line:column: path: what')
      .argument('[file...]', 'default: as for --config.file of run')
      .option('--online', 'also test tokens, mail servers and whether other receivers can be reached')
      .option('--strict', 'exit 3 when there are warnings'),
    async (edge, given, files: string[]) =>
      (await import('./commands/check-config-command.ts')).checkConfig(edge, files, given),
  );
}

export function addTestReceiver(line: CommandLine): void {
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
    async (edge, given, name: string) =>
      (await import('./commands/test-receiver-command.ts')).testReceiver(edge, name, given),
  );
}

export function addRender(line: CommandLine): void {
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
    async (edge, given, receiver: string | undefined) =>
      (await import('./commands/render-command.ts')).render(edge, receiver, given),
  );
}

export function addSchema(line: CommandLine): void {
  acts(
    line,
    line.program.command('schema').description("print the configuration's JSON Schema, for editors"),
    async (edge) => (await import('./commands/schema-command.ts')).schema(edge),
  );
}

export function addHashPassword(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('hash-password')
      .description('print the hash of a password for `web.auth.users`; it is asked for, or read from stdin'),
    async (edge) => (await import('./upkeep/hash-password-command.ts')).printPasswordHash(edge),
  );
}

export function addCompletion(line: CommandLine): void {
  const { program } = line;
  acts(
    line,
    program
      .command('completion')
      .description('print a completion script for a shell')
      .argument('<shell>', 'bash, zsh or fish'),
    async (edge, _given, shell: string) =>
      (await import('./upkeep/completion-command.ts')).completion(edge, program, shell),
  );
}

export function addInit(line: CommandLine): void {
  acts(
    line,
    line.program
      .command('init')
      .description('write an annotated first configuration to ./nestwatch.yaml; it never overwrites one')
      .option('--stdout', 'print it instead')
      .option('--guided', 'ask for a region, a token and a receiver, test each, and write what works'),
    async (edge, given: { readonly stdout: boolean; readonly guided: boolean }) =>
      given.guided
        ? (await import('./guided/guided-init.ts')).guidedInit(edge)
        : (await import('./commands/init-command.ts')).init(edge, given),
  );
}
