/** A separate temporary folder for each test that requests one. Removed with the test. */
import { onTestFinished } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** Its real path. */
export const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "corral-edge-")))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** The same for a test without an effect. */
export const openFolder = (): string => {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "corral-edge-")))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** Writes a program that `/bin/sh` runs; gives its path. */
export const writeProgram = (path: string, script: string): string => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `#!/bin/sh\n${script}\n`)
  chmodSync(path, 0o755)
  return path
}
