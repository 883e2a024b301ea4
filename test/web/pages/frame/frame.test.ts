import { html } from 'hono/html';
import { describe, expect, test } from 'vitest';
import { filterFields, filterForm } from '../../../../src/web/pages/frame/filter-form.ts';
import { dataTable, pager } from '../../../../src/web/pages/frame/list-page.ts';
import { type Page, rootFrom } from '../../../../src/web/pages/frame/page.ts';
import { frame } from '../../../../src/web/pages/frame/page-frame.ts';
import { ENGLISH } from '../../../../src/web/pages/frame/words.ts';
import { NOW_US } from '../../sample.ts';

const page = (pathname: string): Page => ({
  root: rootFrom(pathname),
  nowUs: NOW_US,
  words: ENGLISH,
  zone: 'UTC',
  query: '',
});
const links = (text: string) => [...text.matchAll(/<a[^>]* href="([^"]*)"/g)].map(([, href]) => href!);

describe('addresses', () => {
  test.each(['/', '/alerts', '/alerts/', '/alerts/FlightFailed/1d9a4c07/eu/bird/148890', '/birds/eu/a%2Fb'])(
    'of the navigation in %s lead to the same pages, also behind the path of a proxy',
    (path) => {
      const text = String(frame({ title: 't', tone: 'quiet', body: html``, page: page(path) }));
      for (const base of ['http://watch.example.com', 'http://example.com/tools/nestwatch']) {
        const found = links(text).map((href) => new URL(href, `${base}${path}`).href);
        expect(found).toContain(`${base}/`);
        expect(found).toContain(`${base}/alerts`);
        expect(found).toContain(`${base}/config`);
      }
      expect(text).toContain(`action="${page(path).root}search"`);
    },
  );
});

test('with access to a single page only, there is no navigation', () => {
  const text = String(
    frame({ title: 't', tone: 'quiet', body: html`<main></main>`, page: page('/'), hasNavigation: false }),
  );
  expect(text).not.toContain('<nav');
});

test('the current page is marked, and the first link leads to the content', () => {
  const given = {
    title: 't',
    tone: 'quiet',
    body: html``,
    page: page('/events'),
    section: 'events',
  } as const;
  const text = String(frame(given));
  expect(text).toContain('<a href="events" aria-current="page">Events</a>');
  expect(text.match(/aria-current="page"/g)).toHaveLength(1);
  expect(links(text)[0]).toBe('#main');
});

describe('the filter form', () => {
  const at = page('/alerts');
  const fields = filterFields(at, { regions: ['eu'], given: new URLSearchParams() }, ['region', 'text']);

  test('keeps the values, and offers to clear them', () => {
    const text = String(filterForm(at, fields, new URLSearchParams('region=eu&text="><b>&cursor=1')));
    expect(text).toContain('<option value="eu" selected>EU</option>');
    expect(text).toContain('value="&quot;&gt;&lt;b&gt;"');
    expect(text).toContain('<a class="button" href="?">Show all</a>');
    expect(text).not.toContain('cursor');
  });

  test('labels each of its fields', () => {
    const text = String(filterForm(at, fields, new URLSearchParams()));
    const ids = [...text.matchAll(/<(?:input|select) id="([^"]+)"/g)].map(([, id]) => id);
    expect([...text.matchAll(/<label for="([^"]+)"/g)].map(([, id]) => id)).toEqual(ids);
    expect(text).not.toContain('Show all');
  });
});

describe('the pager', () => {
  const at = page('/alerts');
  test('is empty if there is one page', () => {
    expect(String(pager(at, new URLSearchParams('region=eu'), undefined))).toBe('');
  });

  test('keeps the filters, and continues where the page ends', () => {
    const text = String(pager(at, new URLSearchParams('region=eu&cursor=a'), 'b&c'));
    expect(links(text)).toEqual(['?region=eu', '?region=eu&amp;cursor=b%26c']);
  });
});

test('a table repeats its column names beside each cell, for narrow screens', () => {
  const columns = { Bird: (row: string) => row, Flights: () => 3 };
  const text = String(dataTable('Birds', columns, ['<b>']));
  expect(text).toContain('<th scope="row" role="rowheader">&lt;b&gt;</th>');
  expect(text).toContain('<td role="cell" data-title="Flights" class="number">3</td>');
});
