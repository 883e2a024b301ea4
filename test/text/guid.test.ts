import { describe, expect, test } from 'vitest';
import { foldedGuid } from '../../src/text/plain-text.ts';

describe('an id', () => {
  test.each([
    '0190A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B',
    '0190a1b2-C3d4-7E5F-8a9b-0C1D2E3F4A5B',
    '0190A1B2C3D47E5F8A9B0C1D2E3F4A5B',
  ])('that is a GUID is the same in either case: %s', (id) => {
    expect(foldedGuid(id)).toBe(id.toLowerCase());
  });

  test.each(['F-1', 'Run/1', '', '0190A1B2-C3D4-7E5F-8A9B', 'X0190A1B2-C3D4-7E5F-8A9B-0C1D2E3F4A5B'])(
    'of another form may differ from others by its case alone: %s',
    (id) => {
      expect(foldedGuid(id)).toBe(id);
    },
  );
});
