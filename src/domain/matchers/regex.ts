/**
 * Matches whole texts against RE2 patterns as RE2 does: all alternatives at once, one step a character, so that no
 * pattern and no text from outside can make it run for ever, as a backtracking engine may.
 */
import { type CharTest, isWordChar } from './regex-char.ts';
import { type Assertion, parseRegex, type RegexNode, RegexSyntaxError } from './regex-syntax.ts';

type Step =
  | { readonly op: 'char'; readonly test: CharTest }
  | { readonly op: 'assert'; readonly at: Assertion }
  /** Goes on at several places at once. */
  | { readonly op: 'fork'; to: number[] }
  | { readonly op: 'match' };

/** Longer patterns are refused: nobody writes them, and each step costs for each character. */
const MAX_PATTERN_LENGTH = 4096;
const MAX_STEPS = 20_000;

/** Returns a test for whole texts. Throws a `RegexSyntaxError` for what RE2 refuses. */
export function compileRegex(pattern: string): (text: string) => boolean {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw new RegexSyntaxError(`longer than ${MAX_PATTERN_LENGTH} characters`, MAX_PATTERN_LENGTH);
  }
  const steps: Step[] = [];
  emit(parseRegex(pattern), steps);
  steps.push({ op: 'match' });
  return (text) => run(steps, text);
}

/** Appends the steps of a node; what follows it begins right behind them. */
function emit(node: RegexNode, steps: Step[]): void {
  if (steps.length > MAX_STEPS) throw new RegexSyntaxError('its repetitions make it too large', 0);
  switch (node.kind) {
    case 'char':
      steps.push({ op: 'char', test: node.test });
      return;
    case 'assert':
      steps.push({ op: 'assert', at: node.at });
      return;
    case 'all':
      for (const one of node.nodes) emit(one, steps);
      return;
    case 'any': {
      const fork = pushFork(steps);
      const exits = node.nodes.map((one) => {
        fork.to.push(steps.length);
        emit(one, steps);
        return pushFork(steps);
      });
      for (const exit of exits) exit.to.push(steps.length);
      return;
    }
    case 'repeat':
      emitRepeat(node, steps);
  }
}

function emitRepeat(node: Extract<RegexNode, { kind: 'repeat' }>, steps: Step[]): void {
  for (let count = 0; count < node.min; count += 1) {
    const before = steps.length;
    emit(node.node, steps);
    // What is empty once is empty a thousand times; nested, its copies would take for ever.
    if (steps.length === before) break;
  }
  if (node.max === Number.POSITIVE_INFINITY) {
    const start = steps.length;
    const fork = pushFork(steps);
    fork.to.push(steps.length);
    emit(node.node, steps);
    steps.push({ op: 'fork', to: [start] });
    fork.to.push(steps.length);
    return;
  }
  const exits: { to: number[] }[] = [];
  for (let count = node.min; count < node.max; count += 1) {
    const fork = pushFork(steps);
    fork.to.push(steps.length);
    exits.push(fork);
    emit(node.node, steps);
  }
  for (const exit of exits) exit.to.push(steps.length);
}

function pushFork(steps: Step[]): { to: number[] } {
  const fork: Step = { op: 'fork', to: [] };
  steps.push(fork);
  return fork;
}

function run(steps: readonly Step[], text: string): boolean {
  /** At which position (+ 1) a step was last reached: each is tried once a position. */
  const reached = new Uint32Array(steps.length);
  const matchStep = steps.length - 1;
  let previous: number | undefined;
  let current: number[] = [0];
  let position = 0;
  for (const char of text) {
    const codePoint = char.codePointAt(0)!;
    position += 1;
    const next: number[] = [];
    for (const at of spread(steps, current, reached, position, previous, codePoint)) {
      const step = steps[at]!;
      if (step.op === 'char' && step.test(codePoint)) next.push(at + 1);
    }
    if (next.length === 0) return false;
    current = next;
    previous = codePoint;
  }
  return spread(steps, current, reached, position + 1, previous, undefined).includes(matchStep);
}

/** The steps that consume a character or match, reached from `from` between two characters. */
function spread(
  steps: readonly Step[],
  from: readonly number[],
  reached: Uint32Array,
  position: number,
  before: number | undefined,
  after: number | undefined,
): number[] {
  const found: number[] = [];
  const waiting = [...from];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (reached[at] === position) continue;
    reached[at] = position;
    const step = steps[at]!;
    if (step.op === 'fork') waiting.push(...step.to);
    else if (step.op !== 'assert') found.push(at);
    else if (holds(step.at, before, after)) waiting.push(at + 1);
  }
  return found;
}

function holds(assertion: Assertion, before: number | undefined, after: number | undefined): boolean {
  const edge = (before !== undefined && isWordChar(before)) !== (after !== undefined && isWordChar(after));
  switch (assertion) {
    case 'text_start':
      return before === undefined;
    case 'text_end':
      return after === undefined;
    case 'line_start':
      return before === undefined || before === 10;
    case 'line_end':
      return after === undefined || after === 10;
    case 'word_edge':
      return edge;
    case 'no_word_edge':
      return !edge;
  }
}
