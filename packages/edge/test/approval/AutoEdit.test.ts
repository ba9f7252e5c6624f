/** The table of `docs/auto-edit.md`, row by row, against a workspace that is as its row says. */
import { assert, describe, it } from "@effect/vitest"
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { editAnswer } from "../../src/approval/OrdinaryFiles.ts"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { request } from "../Samples.ts"
import { policyOf, verdictOn } from "./RunPolicies.ts"

const page = readFileSync(new URL("../../../../docs/auto-edit.md", import.meta.url), "utf8")
const rows = [...page.matchAll(/^\| `([^`]+)` \| (.+?) \| (allow|ask) \| (.+?) \|$/gm)].map(
  ([, path = "", disk = "", answer = "", reason = ""]) => ({ path, disk, answer, reason })
)

const put = (path: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, "")
}

/** Makes what the row says is there before the write. */
const prepare = (root: string, path: string, disk: string): void => {
  const at = join(root, path)
  const [, from, to] = /^`(.+)` is a link to `(.+)`$/.exec(disk) ?? []
  const [, store] = /^`(.+)` holds a repository$/.exec(disk) ?? []
  const [, packaged] = /^`(.+)` holds a manifest$/.exec(disk) ?? []
  const [, other] = /^a hard link to `(.+)`$/.exec(disk) ?? []
  mkdirSync(join(root, "src", "deep"), { recursive: true })
  if (disk !== "a folder without Git") mkdirSync(join(root, ".git"))
  if (from !== undefined && to !== undefined) symlinkSync(to, join(root, from))
  else if (store !== undefined) {
    mkdirSync(join(root, store, "objects"), { recursive: true })
    put(join(root, store, "HEAD"))
  } else if (packaged !== undefined) put(join(root, packaged, "package.json"))
  else if (other !== undefined) {
    put(join(root, other))
    linkSync(join(root, other), at)
  } else if (disk === "a file" || disk === "an executable file") {
    put(at)
    if (disk === "an executable file") chmodSync(at, 0o755)
  } else if (disk === "a folder") mkdirSync(at, { recursive: true })
  else assert.include(["–", "a folder without Git"], disk)
}

describe("The table of auto_edit", () => {
  it("has at least 40 rows, and every line of it is a row", () => {
    assert.isAtLeast(rows.length, 40)
    assert.strictEqual(rows.length, page.match(/^\| `/gm)?.length)
  })

  it.each(rows)("answers $answer for $path ($disk)", ({ answer, disk, path, reason }) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-auto-edit-")))
    try {
      const root = join(folder, "ws")
      mkdirSync(root)
      prepare(root, path, disk)
      const place = workspacePathsAt(root)
      const found = editAnswer(place.targetOf(path))
      assert.deepStrictEqual([found.answer, found.reason], [answer, reason])
      const verdict = verdictOn(policyOf({ mode: "auto_edit", place }), request({ files: [path] }))
      assert.strictEqual(verdict._tag, answer === "allow" ? "Allow" : "Ask")
      const among = request({ files: ["notes.txt", path, "src/main.ts"] })
      assert.strictEqual(verdictOn(policyOf({ mode: "auto_edit", place }), among)._tag, verdict._tag)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("asks for more files than are looked at", () => {
    const files = Array.from({ length: 65 }, (_, i) => `src/f${i}.ts`)
    assert.strictEqual(verdictOn(policyOf({ mode: "auto_edit" }), request({ files }))._tag, "Ask")
    assert.strictEqual(
      verdictOn(policyOf({ mode: "auto_edit" }), request({ files: files.slice(1) }))._tag,
      "Allow"
    )
  })
})
