import { expect, test } from 'vitest';
import { rememberFile } from '../../../src/config/effective.ts';
import { anAlertingConfig } from '../sample.ts';
import { serve } from '../served.ts';

/** The configuration that is also in the file, and how often the file was read since the last question. */
function counted(receiver: string) {
  let read = 0;
  const counting = <T extends object>(others: T) => ({
    ...others,
    get receiver() {
      read += 1;
      return receiver;
    },
  });
  const { route, ...others } = anAlertingConfig();
  const alerting = { ...others, route: counting({ ...route }) };
  rememberFile(alerting, { route: counting({ group_wait: '1s' }) });
  return {
    alerting,
    read() {
      const before = read;
      read = 0;
      return before;
    },
  };
}

test.each(['/config', '/api/v2/status'])(
  '%s serialises a configuration once for as long as it is in force [long]',
  async (path) => {
    const first = counted('ann');
    const { ask, web, options } = await serve({ alerting: first.alerting });
    first.read();
    const { body } = await ask(path);
    expect(body).toContain('receiver: ann');
    expect(first.read()).toBeGreaterThanOrEqual(1);
    expect((await ask(path)).body).toContain('receiver: ann');
    expect(first.read()).toBe(0);
    const next = counted('bob');
    web.follow({ ...options, alerting: next.alerting });
    expect((await ask(path)).body).toContain('receiver: bob');
  },
);
