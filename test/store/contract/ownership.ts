import { describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/errors.ts';
import type { Lease, Renewal } from '../../../src/store/ownership-store.ts';
import type { Run } from '../test-store.ts';
import { HOSTILE_TEXTS, RENEWAL } from './sample-records.ts';

const MINUTE_MS = 60_000;

/** The store's own time counts: a replica's lease is over without the replica giving a time. */
export function describeOwnership(run: Run): void {
  const join = (name = 'a', forMs = MINUTE_MS) => run.ownership.join(name, '1.0.0', forMs);
  const take = (duty: string, replica: number) => run.ownership.take(duty, replica);
  const ownerOf = async (duty: string) =>
    (await run.ownership.view()).duties.find((one) => one.duty === duty)?.owner;
  const isLost = async (lease: Lease) => {
    try {
      await run.ownership.check(lease);
      return false;
    } catch (error) {
      expect(codeOf(error)).toBe('lease_lost');
      return true;
    }
  };

  describe('replicas', () => {
    test("have numbers that are never reused, and live by the store's clock", async () => {
      const [a, b] = [await join('a'), await join('b', 0)];
      const { nowUs, replicas } = await run.ownership.view();
      expect(replicas).toMatchObject([
        { replica: a, name: 'a', version: '1.0.0', isLeaving: false },
        { replica: b, name: 'b' },
      ]);
      const [first] = replicas;
      expect(first!.expiresUs - first!.startedUs).toBe(MINUTE_MS * 1000);
      expect(Math.abs(nowUs - first!.startedUs)).toBeLessThan(MINUTE_MS * 1000);
      expect(await run.ownership.removeExpired()).toBe(1);
      expect(await run.ownership.isMember(a)).toBe(true);
      expect(await run.ownership.isMember(b)).toBe(false);
      expect(await join()).toBeGreaterThan(b);
    });

    test('renew their lease, even late, until they were removed', async () => {
      const a = await join('a', 0);
      const { replicas } = (await run.ownership.renew(a, { ...RENEWAL, isLeaving: true }))!;
      expect(replicas.map(({ replica }) => replica)).toEqual([a]);
      expect(await run.ownership.removeExpired()).toBe(0);
      expect((await run.ownership.view()).replicas).toMatchObject([{ replica: a, isLeaving: true }]);
      await run.ownership.leave(a);
      expect(await run.ownership.renew(a, RENEWAL)).toBeUndefined();
      expect((await run.ownership.view()).replicas).toEqual([]);
    });
  });

  test('replicas of the same name are distinguished by their numbers, as long as both exist', async () => {
    const [a, b, other] = [await join('web'), await join('web'), await join('other')];
    const names = async () =>
      new Map((await run.ownership.view()).replicas.map(({ replica, name }) => [replica, name]));
    const all = new Map([
      [a, `web#${a}`],
      [b, `web#${b}`],
      [other, 'other'],
    ]);
    expect(await names()).toEqual(all);
    const renewed = (await run.ownership.renew(b, RENEWAL))!.replicas;
    expect(new Map(renewed.map(({ replica, name }) => [replica, name]))).toEqual(all);
    await run.ownership.leave(a);
    expect(await names()).toEqual(
      new Map([
        [b, 'web'],
        [other, 'other'],
      ]),
    );
  });

  test('replicas tell all how much their clock differs, and why they use an older configuration', async () => {
    const [a, b] = [await join('a'), await join('b')];
    const refused = { mistakes: 2, first: HOSTILE_TEXTS.join(), sinceUs: 1_783_000_000_000_001 };
    const renew = (replica: number, changes: Partial<Renewal>) =>
      run.ownership.renew(replica, { ...RENEWAL, ...changes });
    const config = { digest: 'abc', sinceUs: 1_783_000_000_000_003, regions: ['eu', HOSTILE_TEXTS.join()] };
    await renew(a, { clockAheadUs: -61_000_001, refused, config, turnMs: 203.4 });
    const said = (await renew(b, {}))!.replicas;
    expect(said).toMatchObject([
      { replica: a, clockAheadUs: -61_000_001, refused, config, turnMs: 203 },
      { replica: b, clockAheadUs: 0, config: { digest: '', sinceUs: 0 } },
    ]);
    expect(said[1]!.refused).toBeUndefined();
    expect(said[1]!.config.regions).toBeUndefined();
    expect((await run.ownership.view()).replicas[0]).toMatchObject({ refused });
    expect((await renew(a, {}))!.replicas[0]).toMatchObject({ clockAheadUs: 0, refused: undefined });
  });

  test('it is known from which replica a region was taken because that could not reach it', async () => {
    const [a, b] = [await join('a'), await join('b')];
    await run.ownership.relieve(a);
    const { replicas, nowUs } = await run.ownership.view();
    const relievedUs = new Map(replicas.map((one) => [one.replica, one.relievedUs]));
    expect(relievedUs.get(b)).toBe(0);
    expect(Math.abs(relievedUs.get(a)! - nowUs)).toBeLessThan(60e6);
    const renewed = await run.ownership.renew(a, RENEWAL);
    expect(renewed!.replicas.find(({ replica }) => replica === a)!.relievedUs).toBe(relievedUs.get(a));
  });

  test('a clock that goes on was not set back, whoever notes it', async () => {
    const note = () => run.ownership.noteClock();
    expect(await note()).toBe(0);
    const lease = (await take('alerting', await join()))!;
    expect([await note(), await note()]).toEqual([0, 0]);
    await run.ownership.release(lease);
    await take('alerting', await join('b'));
    expect(await note()).toBe(0);
  });

  describe('a duty', () => {
    test('belongs to one replica at a time', async () => {
      const [a, b] = [await join('a'), await join('b')];
      const lease = await take('region eu', a);
      expect(lease).toMatchObject({ duty: 'region eu' });
      expect(await take('region eu', b)).toBeUndefined();
      expect(await take('region eu', a)).toBeUndefined();
      expect(await take('region us', b)).toMatchObject({ duty: 'region us' });
      expect(await ownerOf('region eu')).toBe(a);
      expect(await isLost(lease!)).toBe(false);
    });

    test('that was given back is lost to its owner, whoever has it now', async () => {
      const a = await join('a');
      const first = (await take('region eu', a))!;
      await run.ownership.release(first);
      expect(await ownerOf('region eu')).toBe(0);
      expect(await isLost(first)).toBe(true);
      const second = (await take('region eu', a))!;
      expect(second.epoch).toBeGreaterThan(first.epoch);
      await run.ownership.release(first);
      expect([await isLost(first), await isLost(second)]).toEqual([true, false]);
    });

    test('of a replica that was removed belongs to nobody, and is lost to it', async () => {
      const [a, b] = [await join('a', 0), await join('b')];
      const [late, own] = [(await take('region eu', a))!, (await take('region us', b))!];
      expect(await isLost(late)).toBe(false);
      expect(await run.ownership.removeExpired()).toBe(1);
      expect([await isLost(late), await isLost(own)]).toEqual([true, false]);
      expect([await ownerOf('region eu'), await ownerOf('region us')]).toEqual([0, b]);
      expect(await take('region eu', a)).toBeUndefined();
      expect(await take('region eu', b)).toMatchObject({ duty: 'region eu' });
      expect(await isLost(late)).toBe(true);
    });

    test('of a replica that ends belongs to nobody at once', async () => {
      const a = await join('a');
      const lease = (await take('alerting', a))!;
      await run.ownership.leave(a);
      expect([await ownerOf('alerting'), await isLost(lease)]).toEqual([0, true]);
    });

    test('rolls back all that its transaction wrote if the lease was lost', async () => {
      const a = await join('a', 0);
      const lease = (await take('region eu', a))!;
      await run.ownership.removeExpired();
      const written = run(async (tx) => {
        await tx.inventory.putRate('eu', { perSecond: 1, keptUs: 1 });
        await tx.ownership.check(lease);
      });
      await expect(written).rejects.toThrow('region eu');
      expect(await run.inventory.rate('eu')).toBeUndefined();
    });

    test('that nobody ever had is lost', async () => {
      expect(await isLost({ duty: 'region eu', epoch: 0 })).toBe(true);
      expect(await isLost({ duty: 'region eu', epoch: 1 })).toBe(true);
    });

    test('is shown to all only by its owner', async () => {
      const a = await join('a');
      const lease = (await take('region eu', a))!;
      expect(await run.ownership.shown()).toEqual([]);
      await run.ownership.show([{ lease, shown: '{"birds":8}' }]);
      await run.ownership.release(lease);
      await run.ownership.show([{ lease, shown: 'late' }]);
      expect(await run.ownership.shown()).toMatchObject([{ duty: 'region eu', shown: '{"birds":8}' }]);
      expect((await run.ownership.view()).duties).toMatchObject([{ duty: 'region eu', owner: 0 }]);
    });
  });
}
