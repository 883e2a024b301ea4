import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { findGoSyntax } from '../../src/templates/go-syntax.ts';
import {
  compileTemplate,
  MAX_OUTPUT_LENGTH,
  MAX_TEMPLATE_LENGTH,
  type TemplateUse,
} from '../../src/templates/liquid.ts';
import { SAMPLE_OF_SEVERAL, SAMPLE_VARIABLES } from '../../src/templates/variables.ts';
import { anyCharacter } from '../any-character.ts';

function rendered(text: string, use: TemplateUse, values: object = {}): string {
  return compileTemplate(text, use, SAMPLE_VARIABLES, SAMPLE_OF_SEVERAL).render({
    ...SAMPLE_OF_SEVERAL,
    ...values,
  });
}

/** A fiftieth of what a template may produce. */
const TEN_THOUSAND = 'x'.repeat(10_000);

afterEach(() => {
  vi.useRealTimers();
});

describe('a template', () => {
  test.each<[string, TemplateUse, string]>([
    ['{{ status | upcase }}: {{ commonLabels.nest }}', 'text', 'FIRING: Marketing'],
    [
      '{% for alert in alerts %}{{ alert.labels.bird }};{% endfor %}',
      'text',
      'Translate blog;Translate news;',
    ],
    ['{{ alerts[0].startsAt | date: "%H:%M" }}', 'text', '12:00'],
    ['{{ commonLabels.team | default: "nobody" }}', 'text', 'nobody'],
    ['{% if commonLabels.team %}{{ commonLabels.team }}{% else %}-{% endif %}', 'text', '-'],
    [
      '{"n":{{ alerts.size }},"l":{{ groupLabels | json }}}',
      'json',
      '{"n":2,"l":{"alertname":"FlightFailed","region":"eu","nest":"Marketing"}}',
    ],
  ])('%s [long]', (text, use, expected) => {
    expect(rendered(text, use)).toBe(expected);
  });

  test('sees only its values: no prototypes, no methods', () => {
    expect(() => rendered('{{ title.constructor }}', 'text')).toThrow('undefined variable');
    expect(() => rendered('{{ commonLabels.__proto__ }}', 'text')).toThrow('undefined variable');
  });

  test('a label that an alert does not have fails, so that a typo is noticed', () => {
    expect(() => rendered('{{ commonLabels.nset }}', 'text')).toThrow(
      'undefined variable: commonLabels.nset',
    );
  });

  test.each([
    ['{% for i in (1..100000000) %}x{% endfor %}', 'memory alloc limit exceeded'],
    ['{% for i in (1..9000000) %}xxxxxxxx{% endfor %}', 'limit exceeded'],
    // liquidjs alone took more than a minute for each of these.
    [
      '{% assign a = (1..3000) | sort %}{{ a | group_by_exp: "x", "a | where_exp: \'y\', \'y == x\' | size" }}',
      'it takes the processor for more than 150 ms',
    ],
    [
      '{% assign a = (1..3000) | sort %}{% for i in a %}{{ a | has_exp: "x", "a | find_exp: \'y\', \'y == -1\'" }}{% endfor %}',
      'it takes the processor for more than 150 ms',
    ],
    ['x'.repeat(MAX_TEMPLATE_LENGTH + 1), 'parse length limit exceeded'],
    [`{% for i in (1..50) %}${TEN_THOUSAND}{% endfor %}x`, 'the result has more than'],
  ])('that does not end is stopped: %.50s [long]', (text, message) => {
    expect(() => compileTemplate(text, 'text', SAMPLE_VARIABLES)).toThrow(message);
  });

  test.each(['slice: x', 'slice: 0, x', 'truncate: x'])('reads the number of %s only once', (filter) => {
    let read = 0;
    const x = Object.assign(['9'], { toString: () => String(++read) });
    const template = compileTemplate(`{{ text | ${filter} }}`, 'text', { text: 'a', x: 1 });
    template.render({ text: 'abc'.repeat(100), x });
    expect(read).toBeLessThan(5);
  });

  test('that is harmless is rendered on a machine that is busy with other things for minutes', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const busy = {
      ...SAMPLE_OF_SEVERAL,
      get title() {
        vi.advanceTimersByTime(120_000);
        return 'slow';
      },
    };
    const template = compileTemplate('{{ title | upcase }}{{ title }}.', 'text', SAMPLE_VARIABLES);
    expect(template.render(busy)).toBe('SLOWslow.');
  });

  test('may use as much as the limits allow', () => {
    expect(compileTemplate('x'.repeat(MAX_TEMPLATE_LENGTH), 'text', SAMPLE_VARIABLES)).toBeDefined();
    const full = `{% for i in (1..50) %}${TEN_THOUSAND}{% endfor %}`;
    expect(rendered(full, 'text')).toHaveLength(MAX_OUTPUT_LENGTH);
  });

  test('reports what is wrong in one short line', () => {
    const told = (filter: string) => {
      try {
        return compileTemplate(`{{ title | ${filter} }}`, 'text', SAMPLE_VARIABLES).use;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(told('up')).toBe('undefined filter: up, line:1, col:1');
    const long = told('x'.repeat(1_000));
    expect(long).toMatch(/^undefined filter: x+…$/);
    expect(long).toHaveLength(201);
  });

  test.each(['include', 'render', 'layout', 'block'])('cannot read another one with %s', (tag) => {
    expect(() => compileTemplate(`{% ${tag} '/etc/passwd' %}`, 'text', SAMPLE_VARIABLES)).toThrow(
      'not found',
    );
  });
});

const HOSTILE = '<script>alert(1)</script> <!channel> "quoted" & \'it\' \\ \n\u2028';

describe('values are escaped for their context', () => {
  test.each<[TemplateUse, RegExp]>([
    ['html', /[<>"']/],
    ['slack', /[<>]/],
  ])('%s', (use, markup) => {
    for (const text of [
      '{{ message }}',
      '{% echo message %}',
      '{{ message | append: message }}',
      '{% cycle message %}',
    ]) {
      expect(rendered(text, use, { message: HOSTILE })).not.toMatch(markup);
    }
    for (const filter of ['raw', 'nofilter']) {
      expect(() => rendered(`{{ message | ${filter} }}`, use)).toThrow(`undefined filter: ${filter}`);
    }
  });

  test.each<TemplateUse>(['text', 'html', 'slack', 'json'])('a missing value is empty in %s', (use) => {
    expect(rendered('"{{ message }}"', use, { message: null })).toBe('""');
    expect(rendered('"{{ resolved | first }}"', use)).toBe('""');
  });

  test('JSON accepts any text as a text, and any value with `json`', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (message) => {
        const text = rendered('{"a":"{{ message }}","b":{{ message | json }}}', 'json', { message });
        expect(JSON.parse(text)).toEqual({ a: message, b: message });
      }),
      { numRuns: 100 },
    );
  });

  test('what does not become JSON fails, immediately or when it is rendered', () => {
    expect(() => compileTemplate('{"a":}', 'json', SAMPLE_VARIABLES)).toThrow('is not JSON');
    const fits = compileTemplate('{"a":{{ truncatedAlerts }}}', 'json', SAMPLE_VARIABLES);
    expect(() => fits.render({ ...SAMPLE_VARIABLES, truncatedAlerts: 'x' })).toThrow('is not JSON');
  });
});

describe('a template of Go', () => {
  test.each([
    ['{{ .CommonLabels.alertname }}', 'line 1, column 1', 'write {{ commonLabels.alertname }}'],
    ['a\nb {{- .Labels.nest | toUpper -}}', 'line 2, column 3', 'write {{ alert.labels.nest }}'],
    ['{{ $x }}', 'line 1, column 1', 'write {{ title }}'],
    ['{{ range .Alerts }}', 'line 1, column 1', 'write {% for alert in alerts %} … {% endfor %}'],
    ['{{ range .Alerts.Resolved }}', 'line 1, column 1', 'write {% for alert in resolved %} … {% endfor %}'],
    ['{{ if eq .Status "firing" }}', 'line 1, column 1', 'write {% if status %} … {% endif %}'],
    [
      '{{ if .CommonAnnotations.summary }}',
      'line 1, column 1',
      'write {% if commonAnnotations.summary %} … {% endif %}',
    ],
    ['{{ else }}', 'line 1, column 1', 'write {% else %}'],
    ['{{ end }}', 'line 1, column 1', 'write {% endfor %} or {% endif %}'],
    [
      '{{ define "x" }}',
      'line 1, column 1',
      'leave the key out for the built-in message, or write the text here',
    ],
    ['{{ title .Status }}', 'line 1, column 1', 'write {{ title }}'],
  ])('%s', (text, place, instead) => {
    expect(findGoSyntax(text)).toBe(
      `${place}: this is a Go template, and templates here are Liquid: ${instead}`,
    );
  });

  test.each([
    '{{ title }}',
    '{{ commonLabels.x }}',
    '{% for a in alerts %}{% endfor %}',
    'end. .Status',
    '{{ title | upcase }}',
  ])('is not %s', (text) => {
    expect(findGoSyntax(text)).toBeUndefined();
  });
});
