import { describe, expect, test } from 'vitest';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { minute, regionHealth, rule, storyOf, storyUnder, watch } from '../world.ts';

function pace(kept: boolean, since: number, reason = 'a stream was last read 20 min ago'): Fact {
  return { fact: 'polling_pace', region: 'eu', kept, reason, sinceUs: minute(since) };
}

describe('FeedBehind', () => {
  test('fires after five minutes, as a warning that says what would be needed', () => {
    const story = storyOf([5, pace(false, 5)]);
    expect(story.firing()).toEqual([]);
    story.pass(10);
    expect(story.the('FeedBehind')).toMatchObject({
      state: 'firing',
      startsAtUs: minute(5),
      labels: { alertname: 'FeedBehind', region: 'eu', severity: 'warning' },
      annotations: {
        summary: 'Region EU is not read in time: alerts may come late',
        description: 'a stream was last read 20 min ago',
      },
    });
  });

  test('resolves when every stream is polled often enough again', () => {
    const story = storyUnder([rule('FeedBehind', { forMs: 0 })], [5, pace(false, 5)]);
    expect(story.firing()).toEqual(['FeedBehind warning']);
    story.tell(9, pace(true, 8));
    expect(story.the('FeedBehind')).toMatchObject({
      state: 'resolved',
      endsAtUs: minute(8),
      annotations: { resolved_by: 'every stream is polled often enough again' },
    });
  });

  test('is forgotten if it did not last, and one region says nothing about another', () => {
    const story = storyOf([5, pace(false, 5)], [7, pace(true, 7)]);
    story.pass(30);
    story.tell(40, { ...pace(true, 40), region: 'us' } as Fact);
    expect(story.firing()).toEqual([]);
  });

  test('does not affect the health of the region', () => {
    const story = watch([rule('FeedBehind', { forMs: 0 })]);
    story.tell(5, pace(false, 5));
    story.tell(6, regionHealth('up', 6));
    expect(story.firing()).toEqual(['FeedBehind warning']);
    expect(story.alerts().map(({ alertname }) => alertname)).toEqual(['FeedBehind']);
  });
});
