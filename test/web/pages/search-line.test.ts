import { describe, expect, test } from 'vitest';
import { lineOf, withLine } from '../../../src/web/pages/frame/filter-form.ts';
import { putAlert } from '../sample.ts';
import { serve } from '../served.ts';

const line = (text: string, given = '', zone?: string) =>
  withLine(new URLSearchParams(given), text, zone).toString();

describe('a search line', () => {
  test.each([
    ['nest:Legal since:24h', 'nest=Legal&since=24h'],
    ['nest:"Legal & Co" quota used', 'nest=Legal+%26+Co&text=quota+used'],
    ['state:over', 'state=resolved'],
    ['https://example.com a:b', 'text=https%3A%2F%2Fexample.com+a%3Ab'],
    ['', ''],
  ])('%s', (text, expected) => {
    expect(line(text)).toBe(expected);
  });

  test('adds to what is asked for, and takes instants in the zone of the reader', () => {
    expect(line('nest:Sales', 'nest=Legal&region=eu')).toBe('nest=Sales&region=eu');
    expect(line('since:2026-07-01', '', 'Europe/Amsterdam')).toBe('since=2026-07-01&zone=Europe%2FAmsterdam');
  });

  test.each([
    ['nest=Legal+%26+Co&since=24h&text=quota+used', 'nest:"Legal & Co" since:24h quota used', ''],
    ['state=resolved&cursor=x', 'state:over', ''],
    ['state=all&zone=Europe%2FAmsterdam&limit=5', 'state:all', 'zone,limit'],
    ['text=nest%3Aa', '', 'text'],
    ['nest=a%22b&text=a++b&cause=Quota+%23', '', 'nest,text,cause'],
  ])('says what %s asks for', (given, said, others) => {
    const shown = lineOf(new URLSearchParams(given));
    expect([shown.line, shown.others.map(([name]) => name).join()]).toEqual([said, others]);
    const asked = line(shown.line, new URLSearchParams(shown.others).toString()).split('&').sort();
    expect(asked).toEqual(given.replace('&cursor=x', '').split('&').sort());
  });

  test('is no parameter of the API', async () => {
    const { ask } = await serve();
    expect((await ask('/api/v1/events?q=quota')).status).toBe(400);
    expect((await ask('/api/v2/alerts?q=quota')).status).toBe(200);
  });

  test('shows no control character in the name of an unknown parameter', async () => {
    const { body } = await (await serve()).ask('/nests?a%00b=x');
    expect(body).toContain('x');
    expect(body).not.toContain('\0');
  });

  test('works without a script, and leaves an address that others can be given', async () => {
    const { ask, store } = await serve();
    await putAlert(store, { id: 'a' });
    const { status, headers } = await ask('/alerts?region=eu&q=nest%3AMarketing');
    expect([status, headers.location]).toEqual([303, '?region=eu&nest=Marketing']);
    const { body } = await ask('/alerts?region=eu&nest=Marketing');
    expect(body).toContain('alerts/a"');
    expect(body).toContain('href="?region=eu" aria-label="Without Nest: Marketing"');
    expect(body).toContain('name="q" value="region:eu nest:Marketing"');
    expect((await ask('/silences?q=nest%3AMarketing')).headers.location).toBe('?nest=Marketing');
  });
});
