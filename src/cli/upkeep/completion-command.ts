/** Writes scripts that complete the command line in a shell. They contain its words as of the time they are printed. */
import type { Command } from 'commander';
import { ALERT_KINDS } from '../../domain/kinds/kinds.ts';
import { NestwatchError } from '../../errors.ts';
import type { Edge } from '../../process-io.ts';
import { OPERATIONS } from '../../service/operations.ts';

/** What can be written at one position of the command line. */
interface Place {
  /** The preceding commands, such as `silence add`; empty for the first word. */
  readonly at: string;
  readonly words: readonly Word[];
  /** Options with a value: one of `choices`, or else a file name. */
  readonly values: readonly {
    readonly option: string;
    readonly choices: readonly string[];
  }[];
}

/** Commands whose matchers may begin with the name of an alert. */
const MATCHING: ReadonlySet<string> = new Set([
  'alerts',
  'alerts list',
  'alerts resolve',
  'silence add',
  'silence acknowledge',
]);

interface Word {
  readonly word: string;
  readonly help: string;
}

const SHELLS: ReadonlyMap<string, (places: readonly Place[]) => string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

/** Throws `usage` for an unknown shell. */
export function completion(edge: Edge, program: Command, shell: string): number {
  const write = SHELLS.get(shell);
  if (!write) {
    throw new NestwatchError(
      'usage',
      `there is no completion for ${shell}; there is ${shellNames().join(', ')}`,
    );
  }
  edge.stdout.write(write(placesOf(program, '')));
  return 0;
}

const shellNames = () => [...SHELLS.keys()];

function placesOf(command: Command, at: string): Place[] {
  const options = command.options.flatMap(({ long, description, required, argChoices = [] }) =>
    long ? [{ option: long, help: description, takesValue: required, choices: argChoices }] : [],
  );
  const own: Place = {
    at,
    words: [
      ...command.commands.map((one) => ({ word: one.name(), help: one.description() })),
      // It parses its own arguments.
      ...(at === 'api' ? OPERATIONS.map(({ id, summary }) => ({ word: id, help: summary })) : []),
      ...(at === 'completion' ? shellNames().map((word) => ({ word, help: 'the shell' })) : []),
      ...(MATCHING.has(at) ? ALERT_KINDS.map((name) => ({ word: name, help: 'an alert' })) : []),
      ...options.map(({ option, help }) => ({ word: option, help })),
    ],
    values: options.filter(({ takesValue }) => takesValue),
  };
  const below = command.commands.flatMap((one) => placesOf(one, at ? `${at} ${one.name()}` : one.name()));
  return [own, ...below];
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** Patterns of a shell's `case` or `switch` for all commands. */
const commandsOf = (places: readonly Place[]) => places.flatMap(({ at }) => (at ? [quoted(at)] : []));

/** The branches of a `case`: which values can follow which words. File names need none. */
function valueBranches(places: readonly Place[], branch: (choices: string) => string): string {
  const all = places.flatMap(({ at, values }) =>
    values.map(({ option, choices }) => ({
      after: quoted(`${at} ${option}`),
      choices: choices.join(' '),
    })),
  );
  const byChoices = Map.groupBy(all, ({ choices }) => choices);
  return [...byChoices]
    .map(([choices, same]) => `    ${same.map(({ after }) => after).join(' | ')}) ${branch(choices)} ;;`)
    .join('\n');
}

function bash(places: readonly Place[]): string {
  const words = places.map(
    ({ at, words: all }) => `      ${quoted(at)}) words=${quoted(all.map(({ word }) => word).join(' '))} ;;`,
  );
  return `# Put into ~/.bashrc: source <(nestwatch completion bash)
_nestwatch() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD - 1]} at= index words=
  [[ $before == = ]] && before=\${COMP_WORDS[COMP_CWORD - 2]}
  [[ $current == = ]] && before=\${COMP_WORDS[COMP_CWORD - 1]} current=
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "\${at:+$at }\${COMP_WORDS[index]}" in
      ${commandsOf(places).join(' | ')}) at="\${at:+$at }\${COMP_WORDS[index]}" ;;
    esac
  done
  case "$at $before" in
${valueBranches(places, (choices) => `words="${choices}"`)}
    *) case "$at" in
${words.join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _nestwatch nestwatch
`;
}

function zsh(places: readonly Place[]): string {
  const words = places.map(
    ({ at, words: all }) =>
      `      ${quoted(at)}) found=(${all.map(({ word, help }) => quoted(`${word}:${help}`)).join(' ')}) ;;`,
  );
  return `#compdef nestwatch
# Put into ~/.zshrc, after compinit: source <(nestwatch completion zsh)
_nestwatch() {
  local at='' word before="\${words[CURRENT-1]}"
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
      ${commandsOf(places).join(' | ')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at $before" in
${valueBranches(places, (choices) => `found=(${choices})`)}
    *) case "$at" in
${words.join('\n')}
    esac ;;
  esac
  (( $#found )) && _describe nestwatch found || _files
}
compdef _nestwatch nestwatch
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ at, words, values }) => {
    const when = `complete -c nestwatch -n '__nestwatch_at "${at}"'`;
    return words.map(({ word, help }) => {
      const said = ` -d ${fishQuoted(help)}`;
      if (!word.startsWith('--')) return `${when} -f -a ${word}${said}`;
      const value = values.find(({ option }) => option === word);
      const choices = value?.choices.join(' ') ?? '';
      const takes = value && (choices ? ` -x -a '${choices}'` : ' -r');
      return `${when} -l ${word.slice(2)}${takes ?? ''}${said}`;
    });
  });
  return `# Put into ~/.config/fish/config.fish: nestwatch completion fish | source
function __nestwatch_at
    set -l at
    for word in (commandline -opc)[2..-1]
        switch (string trim "$at $word")
            case ${commandsOf(places).join(' ')}
                set at (string trim "$at $word")
        end
    end
    test "$at" = "$argv"
end
${lines.join('\n')}
`;
}

/** In fish a backslash escapes a quote and itself. */
const fishQuoted = (text: string) => `'${text.replaceAll(/[\\']/g, '\\$&')}'`;
