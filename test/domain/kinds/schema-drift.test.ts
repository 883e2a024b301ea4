import { describe, expect, test } from 'vitest';
import { minute, OF_DEFAULT, rule, schemaDrift, storyOf, storyUnder, watch } from '../world.ts';

describe('SchemaDrift', () => {
  test('fires for each feed and says what was wrong', () => {
    const story = watch();
    story.tell(5, schemaDrift(5, 2, 'createdAt: <b>missing</b>\n\u202e', 'bird_log'), schemaDrift(5));
    expect(story.alerts().map(({ id }) => id)).toEqual([
      `SchemaDrift/${OF_DEFAULT.SchemaDrift}/eu/feed/bird_log`,
      `SchemaDrift/${OF_DEFAULT.SchemaDrift}/eu/feed/flight`,
    ]);
    expect(story.alerts()[0]).toMatchObject({
      scope: 'eu',
      startsAtUs: minute(5),
      labels: { region: 'eu', feed: 'bird_log', severity: 'warning' },
      annotations: {
        summary: '2 Bird log entries could not be read in region EU',
        description: 'Nobody is notified of their content. The last one: createdAt: <b>missing</b>',
      },
    });
    expect(story.alerts()[1]!.annotations.summary).toBe('1 Flight could not be read in region EU');
  });

  test('keeps counting while it fires, and resolves after a day without one', () => {
    const story = storyOf([5, schemaDrift(5, 2)], [65, schemaDrift(65, 3)]);
    expect(story.the('SchemaDrift').annotations.summary).toBe('5 Flights could not be read in region EU');
    story.pass(65 + 1439);
    expect(story.firing()).toEqual(['SchemaDrift warning']);
    story.pass(65 + 1440);
    expect(story.the('SchemaDrift')).toMatchObject({ state: 'resolved', startsAtUs: minute(5) });
    expect(story.the('SchemaDrift').annotations.resolved_by).toBe('every entry could be read for 1 d');
    story.tell(5000, schemaDrift(5000));
    expect(story.the('SchemaDrift').annotations).toMatchObject({
      summary: '1 Flight could not be read in region EU',
      description: 'Nobody is notified of its content: createdAt: missing',
    });
  });

  test('of the inventory counts what its last reading found, since each reads everything', () => {
    const story = watch();
    story.tell(5, schemaDrift(5, 3, 'a Bird: no usable id', 'inventory'));
    story.tell(10, schemaDrift(10, 2, 'a Bird: no usable id', 'inventory'));
    const summary = '2 Nests or Birds could not be read in region EU';
    expect(story.the('SchemaDrift').annotations.summary).toBe(summary);
  });

  test('of the inventory resolves when all of it can be read, which says nothing about a feed', () => {
    const story = watch();
    story.tell(5, schemaDrift(5, 3, 'a Bird: no usable id', 'inventory'), schemaDrift(5));
    story.tell(10, schemaDrift(10, 0, '', 'inventory'));
    expect(story.alerts().map(({ id, state }) => [id.split('/').at(-1), state])).toEqual([
      ['inventory', 'resolved'],
      ['flight', 'firing'],
    ]);
    expect(story.alerts()[0]).toMatchObject({
      endsAtUs: minute(10),
      annotations: { resolved_by: 'every Nest and Bird can be read again' },
    });
    story.tell(15, schemaDrift(15, 0, '', 'inventory'));
    story.tell(20, schemaDrift(20, 1, 'a Bird: no usable id', 'inventory'));
    expect(story.alerts()[0]).toMatchObject({ state: 'firing', startsAtUs: minute(20) });
  });

  test('can last until somebody looks', () => {
    const story = storyUnder([rule('SchemaDrift', { resolveAfterMs: null })], [5, schemaDrift(5)]);
    expect(story.the('SchemaDrift').dueAtUs).toBeNull();
  });
});
