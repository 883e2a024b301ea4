#!/usr/bin/env node
/** What `nestwatch` is once it is installed: this file is written so that every Node can read it. */
const wanted = 26;
const [major] = process.versions.node.split('.');
if (Number(major) >= wanted) {
  import('./nestwatch.mjs');
} else {
  console.error(
    `nestwatch needs Node ${wanted} or newer, and this is ${process.versions.node}: install it from https://nodejs.org, or use the image.`,
  );
  process.exitCode = 2;
}
