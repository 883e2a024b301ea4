import { describe, expect, test } from 'vitest';
import { isForgettable } from '../../../src/domain/alert/alert.ts';
import type { Feed } from '../../../src/domain/alert/event.ts';
import type { Fact } from '../../../src/domain/alert/fact.ts';
import { minute, storyOf, watch } from '../world.ts';

const gap = (missing: number, feed: Feed = 'bird_log'): Fact => ({
  fact: 'feed_gap',
  region: 'eu',
  feed,
  missing,
  sinceUs: missing > 0 ? minute(3) : 0,
});

describe('FeedIncomplete', () => {
  test('fires when entries are missing, and says how many of what', () => {
    const story = storyOf([30, gap(1)]);
    expect(story.the('FeedIncomplete')).toMatchObject({
      scope: 'eu',
      state: 'firing',
      startsAtUs: minute(3),
      dueAtUs: null,
      labels: { alertname: 'FeedIncomplete', feed: 'bird_log', region: 'eu', severity: 'warning' },
      annotations: {
        summary: '1 Bird log entry is missing in region EU',
        description: 'The service counts them but does not return them. Look them up in the service.',
      },
    });
  });

  test('notifies when more are missing, and not when the number is the same', () => {
    const story = storyOf([30, gap(1)], [40, gap(3)]);
    expect(story.the('FeedIncomplete').annotations.summary).toBe(
      '3 Bird log entries are missing in region EU',
    );
    expect(story.tell(50, gap(3)).alerts).toEqual([]);
    expect(story.the('FeedIncomplete').startsAtUs).toBe(minute(3));
  });

  test('is one alert for each feed, and ends only with its own feed', () => {
    const story = storyOf([30, gap(2), gap(5, 'notification')]);
    expect(story.firing()).toEqual(['FeedIncomplete warning', 'FeedIncomplete warning']);
    story.tell(40, gap(0, 'notification'));
    const states = story.alerts().map(({ labels, state }) => [labels.feed, state]);
    expect(Object.fromEntries(states)).toEqual({ bird_log: 'firing', notification: 'resolved' });
  });

  test('resolves when nothing is missing any more, and is then forgotten', () => {
    const story = storyOf([30, gap(2)], [70, gap(0)]);
    const alert = story.alerts().find((one) => one.alertname === 'FeedIncomplete')!;
    expect(alert).toMatchObject({ state: 'resolved', endsAtUs: minute(70) });
    expect(isForgettable(alert)).toBe(true);
  });

  test('is not raised by a feed that is complete', () => {
    const story = watch();
    expect(story.tell(1, gap(0)).alerts).toEqual([]);
  });
});
