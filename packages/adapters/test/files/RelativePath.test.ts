import { assert, describe, it } from "@effect/vitest"
import { relativeTo } from "../../src/files/RelativePath.ts"

describe("relativeTo", () => {
  const relative = relativeTo("/srv/app", "/real/app/")

  it("returns paths inside a root without the root", () => {
    assert.strictEqual(relative("/srv/app"), ".")
    assert.strictEqual(relative("/srv/app/src/a.ts"), "src/a.ts")
    assert.strictEqual(relative("/srv/app//src/a.ts"), "src/a.ts")
    assert.strictEqual(relative("/real/app/a.ts"), "a.ts")
  })

  it("keeps a path outside, also in a folder whose name begins with the root's", () => {
    for (const path of ["/srv/app2/a.ts", "/srv/app.bak", "/srv", "/etc/passwd", "a.ts"])
      assert.strictEqual(relative(path), path)
  })

  it("keeps every path under the root of the file system relative", () => {
    assert.strictEqual(relativeTo("/")("/etc/passwd"), "etc/passwd")
  })
})
