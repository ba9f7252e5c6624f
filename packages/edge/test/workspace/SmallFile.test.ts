import { afterAll, assert, describe, it } from "@effect/vitest"
import { appendFileSync, existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { smallFile } from "../../src/workspace/UntrustedFiles.ts"

describe("smallFile", () => {
  const folder = mkdtempSync(join(tmpdir(), "corral-small-"))
  const path = join(folder, "file")
  afterAll(() => rmSync(folder, { recursive: true }))

  it("is the whole text up to the limit, and nothing above it", () => {
    writeFileSync(path, "é".repeat(4))
    assert.strictEqual(smallFile(path, 8), "é".repeat(4))
    appendFileSync(path, "x")
    assert.isUndefined(smallFile(path, 8))
  })

  it("is nothing for a link, a folder and no file", () => {
    symlinkSync(path, join(folder, "link"))
    for (const name of ["link", ".", "none"]) assert.isUndefined(smallFile(join(folder, name)))
  })

  // A file that says it is empty, and has content: as one that grows after its size was read.
  it.runIf(existsSync("/proc/self/status"))("reads no more than the size that was checked", () => {
    assert.strictEqual(smallFile("/proc/self/status"), "")
  })
})
