import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createColumns } from '../../src/intake/columns.ts';

test('whatever is added, set and released, each row keeps its own numbers [long]', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ act: 'add' } as const) },
    {
      weight: 2,
      arbitrary: fc.record({ act: fc.constant('set' as const), at: fc.nat(), value: fc.double() }),
    },
    { weight: 1, arbitrary: fc.record({ act: fc.constant('remove' as const), at: fc.nat() }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1_000, size: 'max' }), (steps) => {
      const table = createColumns();
      const columns = [table.add(0), table.add(-1)];
      const expected = new Map<number, [number, number]>();
      for (const one of steps) {
        if (one.act === 'add') {
          const row = table.addRow();
          expect(expected.has(row)).toBe(false);
          expected.set(row, [0, -1]);
          continue;
        }
        const row = [...expected.keys()][one.at % Math.max(1, expected.size)];
        if (row === undefined) continue;
        if (one.act === 'remove') {
          table.removeRow(row);
          expected.delete(row);
          continue;
        }
        columns[1]!.set(row, one.value);
        expected.set(row, [0, one.value]);
      }
      for (const [row, numbers] of expected)
        expect(columns.map((column) => column.get(row))).toEqual(numbers);
    }),
    { numRuns: 40 },
  );
});

test('a rough number keeps seven digits, and infinity', () => {
  const table = createColumns();
  const column = table.addRough(Number.POSITIVE_INFINITY);
  const row = table.addRow();
  expect(column.get(row)).toBe(Number.POSITIVE_INFINITY);
  column.set(row, 1_234_567.8);
  expect(column.get(row)).toBeCloseTo(1_234_567.8, 0);
});

test('a choice is the same object that was set, and a row used again has the first one', () => {
  const table = createColumns();
  const choices = Array.from({ length: 256 }, (_, at) => ({ at }));
  const column = table.addChoice(choices[0]!);
  const rows = choices.map(() => table.addRow());
  for (const [at, row] of rows.entries()) column.set(row, choices[at]!);
  expect(rows.every((row, at) => column.get(row) === choices[at])).toBe(true);
  table.removeRow(rows[9]!);
  expect(column.get(table.addRow())).toBe(choices[0]);
});
