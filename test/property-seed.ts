/**
 * Property tests go through the same cases in every run, so what passed here passes for whoever runs it next. For
 * other cases run `PROPERTY_SEED=7 npm test`, with a seed from -2^31 to 2^31 - 1.
 */
import fc from 'fast-check';

// Lists and texts must be able to reach the maximum length that a test names. Without this they have about ten items.
fc.configureGlobal({
  seed: Number(process.env.PROPERTY_SEED ?? 1),
  defaultSizeToMaxWhenMaxSpecified: true,
});
