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
import { foldedName } from "../../src/approval/FileNames.ts"
import { editAnswer } from "../../src/approval/OrdinaryFiles.ts"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { request } from "../Samples.ts"
import { policyOf, verdictOn } from "./RunPolicies.ts"

const page = readFileSync(new URL("../../../../docs/auto-edit.md", import.meta.url), "utf8")
const rows = [...page.matchAll(/^\| `([^`]+)` \| (.+?) \| (allow|ask) \| (.+?) \|$/gm)].map(
  ([, path = "", disk = "", answer = "", reason = ""]) => ({ path, disk, answer, reason })
)

/** Controls, formats, blank letters and marks that no font shows. */
const unseen = [
  0x7f, 0x85, 0xad, 0x34f, 0x600, 0x70f, 0x115f, 0x1160, 0x17b4, 0x180e, 0x200b, 0x200c, 0x202e, 0x2064,
  0x2800, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0x1bca0, 0x1d173, 0xe0041, 0xe0100
]

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

  it("asks about a name with a character that is not seen", () => {
    for (const point of unseen) {
      const character = String.fromCodePoint(point)
      for (const path of [`src/a${character}.ts`, `src/${character}a.ts`, `s${character}rc/a.ts`]) {
        const verdict = verdictOn(policyOf({ mode: "auto_edit" }), request({ files: [path] }))
        assert.strictEqual(verdict._tag, "Ask", `U+${point.toString(16)}`)
      }
      assert.strictEqual(foldedName(`.g${character}it`), point === 0x2800 ? `.g${character}it` : ".git")
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
