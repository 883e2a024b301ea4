import { describe, expect, test } from 'vitest';
import { createServiceLinks } from '../../src/config/sections/regions-section.ts';
import { load, problemsIn, testProblems } from './load.ts';

const region = (links: string) =>
  `regions:\n  eu:\n    base_url: https://eu.example.com/api-rest\n    token: t\n    links:\n      ${links}\n`;

const PLACE = {
  ...{ region: 'eu', nest_id: '682', nest: 'Marketing', bird_id: '148890', bird: 'Translate blog' },
  flight_id: 'f-1',
};

describe('links', () => {
  testProblems(problemsIn(region), [
    [
      'bird: "https://app.example.com/{{ bird_id"',
      '6:13: regions.eu.links.bird: output "{{ bird_id" not closed, line:1, col:25',
    ],
    [
      'nest: "https://app.example.com/{{ bird_id }}"',
      '6:13: regions.eu.links.nest: there is no variable bird_id; there are region, nest_id, nest',
    ],
    [
      'bird: "javascript:alert({{ bird_id }})"',
      '6:13: regions.eu.links.bird: must be a URL that begins with http:// or https://, when it is filled in',
    ],
    [
      'bird: "/nests/{{ nest_id }}"',
      '6:13: regions.eu.links.bird: must be a URL that begins with http:// or https://, when it is filled in',
    ],
    [
      'bird: "https://{{ nest }}.example.com/"',
      '6:13: regions.eu.links.bird: must name its host without any variable',
    ],
    [
      'user: https://app.example.com/',
      '6:7: regions.eu.links.user: unknown key; known here: nest, bird, flight',
    ],
    [
      `bird: "https://app.example.com/${'x'.repeat(2_000)}"`,
      '6:13: regions.eu.links.bird: makes an address of more than 2000 characters',
    ],
  ]);

  const linksOf = (links: string) => createServiceLinks(load(region(links)).regions);

  test('are built from what is known, encoded for an address', () => {
    const links = linksOf(
      'nest: "https://app.example.com/{{ region }}/{{ nest_id }}"\n      flight: "https://app.example.com/?f={{ flight_id }}&n={{ nest }}#x"',
    );
    expect(links(PLACE)).toEqual({
      nest: 'https://app.example.com/eu/682',
      flight: 'https://app.example.com/?f=f-1&n=Marketing#x',
    });
    expect(links({ ...PLACE, flight_id: '' })).toEqual({ nest: 'https://app.example.com/eu/682' });
    expect(links({ ...PLACE, nest: 'a&b=c/../ü"\ud800' }).flight).toBe(
      'https://app.example.com/?f=f-1&n=a%26b%3Dc%2F..%2F%C3%BC%22%EF%BF%BD#x',
    );
    expect(links({ ...PLACE, region: 'us' })).toEqual({});
    expect(links({ ...PLACE, region: 'constructor' })).toEqual({});
  });

  test('are left out unless the ids of all that contains the place are known', () => {
    const links = linksOf(
      'bird: "https://app.example.com/{{ nest_id }}/{{ bird_id }}"\n      flight: "https://app.example.com/{{ nest_id }}/{{ bird_id }}/{{ flight_id }}"',
    );
    expect(links({ region: 'eu', flight_id: 'f-1' })).toEqual({});
    expect(links({ ...PLACE, nest_id: '' })).toEqual({});
  });

  test('that would be endless are left out', () => {
    const links = linksOf('bird: "https://app.example.com/{{ bird }}"');
    expect(links({ ...PLACE, bird: 'ü'.repeat(500) })).toEqual({});
  });

  test('are none by default', () => {
    const { regions } = load(region('{}'));
    expect(createServiceLinks(regions)(PLACE)).toEqual({});
  });
});
