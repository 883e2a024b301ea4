/** The commands about a configuration: its mistakes, its routes, and the messages of its receivers. */
import { Option } from 'commander';
import type { Edge } from '../process-io.ts';
import type { CommandRow } from './command-rows.ts';

export const CONFIG_GROUPS = {
  config: 'show the effective configuration',
  routes: 'show or test the route tree of a configuration',
};

export const CONFIG_COMMANDS: readonly CommandRow[] = [
  {
    words: 'check-config',
    about: 'report every mistake in a configuration as file:line:column: path: what',
    of: 'config',
    takes: [['[file...]', 'default: as for --config.file of run']],
    options: [
      ['--online', 'also test tokens, mail servers and whether other receivers can be reached'],
      ['--strict', 'exit 3 when there are warnings'],
    ],
    examples: ['check-config nestwatch.yaml', 'check-config --online --strict'],
    load: async () => (await import('./commands/check-config-command.ts')).checkConfig,
  },
  {
    words: 'config show',
    about: 'print it with all defaults and without secrets',
    ...{ isDefault: true, of: 'config' },
    examples: ['config show', 'config show --json | jq .route'],
    load: async () => (await import('./commands/config-command.ts')).configShow,
  },
  {
    words: 'routes show',
    about: 'print the tree as amtool prints it',
    ...{ isDefault: true, of: 'config' },
    examples: ['routes show'],
    load: async () => (await import('./commands/routes-command.ts')).routesShow,
  },
  {
    words: 'routes test',
    about: 'print the receivers that alerts with these labels reach',
    of: 'config',
    takes: [['[label...]', 'name=value']],
    examples: ['routes test alertname=FlightFailed severity=critical region=eu'],
    load: async () => (await import('./commands/routes-command.ts')).routesTest,
  },
  {
    words: 'test-receiver',
    about: 'send a sample through every integration of a receiver; exit 4 unless all recipients accept it',
    of: 'config',
    takes: [['<name>', 'the receiver']],
    options: [
      ['--resolved', 'send the resolved message: ends the incident that an earlier sample opened'],
      ['--dry-run', 'print what would be sent'],
    ],
    examples: ['test-receiver ops --dry-run', 'test-receiver pager --resolved'],
    load: async () => (await import('./commands/test-receiver-command.ts')).testReceiver,
  },
  {
    words: 'render',
    about: "print what a receiver's integrations, or one template, make of a sample; nothing is sent",
    of: 'config',
    takes: [['[receiver]', 'the receiver; leave it out with --template']],
    options: [
      ['--resolved', 'as if the alert were resolved'],
      ['--template <file>', 'a file with one Liquid template'],
      new Option('--use <use>', 'what the template is for: it decides how values are escaped')
        .choices(['text', 'html', 'slack', 'json'])
        .default('text'),
    ],
    examples: ['render ops'],
    load: async () => (await import('./commands/test-receiver-command.ts')).render,
  },
  {
    words: 'schema',
    about: "print the configuration's JSON Schema, for editors",
    examples: ['schema > nestwatch.schema.json'],
    load: async () => (await import('./commands/config-command.ts')).schema,
  },
  {
    words: 'completion',
    about: 'print a completion script for a shell',
    takes: [['<shell>', 'bash, zsh or fish']],
    examples: ['completion bash > /etc/bash_completion.d/nestwatch'],
    load: async ({ parent }) => {
      const { completion } = await import('./upkeep/completion-command.ts');
      return (edge: Edge, shell: string) => completion(edge, parent!, shell);
    },
  },
  {
    words: 'hash-password',
    about: 'print the hash of a password for `web.auth.users`; it is asked for, or read from stdin',
    examples: ['hash-password < password.txt'],
    load: async () => (await import('./commands/config-command.ts')).printPasswordHash,
  },
  {
    words: 'init',
    about: 'write an annotated first configuration to ./nestwatch.yaml; it never overwrites one',
    options: [
      ['--stdout', 'print it instead'],
      ['--guided', 'ask for a region, a token and a receiver, test each, and write what works'],
    ],
    examples: ['init', 'init --guided', 'init --stdout'],
    load: async () => {
      const { guidedInit, init } = await import('./guided/guided-init.ts');
      return (edge: Edge, given: { readonly stdout: boolean; readonly guided: boolean }) =>
        given.guided ? guidedInit(edge) : init(edge, given);
    },
  },
];
