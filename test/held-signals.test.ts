import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { holdSignals } from '../src/held-signals.ts';

/** A process that records what ended it. */
class FakeProcess extends EventEmitter {
  readonly pid = 7;
  readonly ended: (string | number)[] = [];
  readonly #defaults = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'];

  kill(pid: number, name: string): void {
    if (!this.emit(name) && this.#defaults.includes(name)) this.ended.push(`${pid} ${name}`);
  }

  exit(code: number): void {
    this.ended.push(code);
  }
}

function open() {
  const process = new FakeProcess();
  const heard: string[] = [];
  let nowMs = 0;
  const { onSignal, holdOnly } = holdSignals(process, () => nowMs);
  const hear = (name: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGUSR2') => onSignal(name, () => heard.push(name));
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { process, heard, hear, holdOnly, pass, signal: (name: string) => process.kill(7, name) };
}

describe('signals that arrive before a command listens', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const)(
    '%s is handled afterwards, once',
    async (name) => {
      const { process, heard, hear, pass, signal } = open();
      signal(name);
      hear(name);
      expect(heard).toEqual([]);
      await Promise.resolve();
      expect(heard).toEqual([name]);
      pass(500);
      signal(name);
      expect([heard, process.ended]).toEqual([[name, name], []]);
    },
  );

  test('one is kept for the next listener if the first stopped before it was called', async () => {
    const { heard, hear, signal } = open();
    signal('SIGHUP');
    hear('SIGHUP')();
    await Promise.resolve();
    expect(heard).toEqual([]);
    hear('SIGHUP');
    await Promise.resolve();
    expect(heard).toEqual(['SIGHUP']);
  });

  test('nobody is called after having stopped, and the process keeps running', () => {
    const { process, heard, hear, signal } = open();
    hear('SIGHUP')();
    signal('SIGHUP');
    signal('SIGHUP');
    expect([heard, process.ended]).toEqual([[], []]);
  });

  test('the second request to end ends the process if nobody listens', () => {
    const { process, pass, signal } = open();
    signal('SIGTERM');
    expect(process.ended).toEqual([]);
    pass(500);
    signal('SIGINT');
    expect(process.ended).toEqual([1]);
  });

  test('one that follows at once is the same stroke, which npm passes on', () => {
    const { process, heard, hear, pass, signal } = open();
    const stop = hear('SIGINT');
    signal('SIGINT');
    pass(499);
    signal('SIGINT');
    stop();
    signal('SIGINT');
    expect([heard, process.ended]).toEqual([['SIGINT'], []]);
    pass(1);
    signal('SIGINT');
    expect(process.ended).toEqual([1]);
  });

  test('a listener decides about the second one', () => {
    const { process, heard, hear, pass, signal } = open();
    const stop = hear('SIGTERM');
    signal('SIGTERM');
    pass(500);
    signal('SIGTERM');
    expect([heard, process.ended]).toEqual([['SIGTERM', 'SIGTERM'], []]);
    stop();
    signal('SIGTERM');
    expect(process.ended).toEqual([1]);
  });

  test('signals that a command does not handle have their default effect, even if they came already', () => {
    const { process, heard, hear, holdOnly, signal } = open();
    signal('SIGHUP');
    holdOnly(['SIGINT', 'SIGTERM']);
    expect(process.ended).toEqual(['7 SIGHUP']);
    signal('SIGUSR2');
    expect(process.ended).toEqual(['7 SIGHUP', '7 SIGUSR2']);
    hear('SIGTERM');
    signal('SIGTERM');
    expect([heard, process.ended.length]).toEqual([['SIGTERM'], 2]);
  });
});
