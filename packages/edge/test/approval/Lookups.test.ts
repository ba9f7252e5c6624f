/** A runtime may name as many paths as deep as it likes: the Edge looks up a bounded number of them, each once. Counted, not timed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { manifests } from "../../src/approval/FileNames.ts"
import { MAX_CALLS, fileSystem, workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { temporaryFolder } from "../Folder.ts"
import { request } from "../Samples.ts"
import { all, policyOf, shell, verdictOn } from "./RunPolicies.ts"

const words = (count: number, prefix = "w") =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`).join(" ")

/** A workspace that counts what is asked of the file system. */
const counted = Effect.gen(function* () {
  const root = yield* temporaryFolder
  const calls = { lstat: 0, readlink: 0 }
  const place = workspacePathsAt(root, {
    lstat: (path) => {
      calls.lstat++
      return fileSystem.lstat(path)
    },
    readlink: (path) => {
      calls.readlink++
      return fileSystem.readlink(path)
    }
  })
  return { root, place, calls: () => calls.lstat + calls.readlink }
})

describe("A look at the workspace", () => {
  for (const depth of [0, 10, 50])
    for (const count of [1, 20, 300])
      for (const segments of [1, 4, 60]) {
        const name = `of ${segments} commands with ${count} words, ${depth} folders deep, costs a call for each name`
        it.effect(name, () =>
          Effect.gen(function* () {
            const { calls, place, root } = yield* counted
            const deep = "deep/".repeat(depth)
            mkdirSync(join(root, deep), { recursive: true })
            const line = Array.from({ length: segments }, () => `cp ${words(count)}`).join("; ")
            for (const requested of [
              shell(line, deep || "."),
              shell(depth === 0 ? line : `cd ${deep} && ${line}`)
            ]) {
              for (const mode of ["ask", "auto_edit"] as const) {
                const before = calls()
                verdictOn(policyOf({ place, mode }), requested)
                // Each folder once and whether it is a repository; each word once where it runs, and where it would after a `cd` that fails.
                assert.isAtMost(calls() - before, 2 * (depth + 1) + 2 * count + 8)
              }
            }
          })
        )
      }

  it.effect("of a path with more names than are followed is not certain", () =>
    Effect.gen(function* () {
      const { calls, place, root } = yield* counted
      const deep = "deep/".repeat(120)
      mkdirSync(join(root, deep), { recursive: true })
      const policy = policyOf({ place })
      const assessed = policy.assess(shell(`cp ${words(500)}`, deep))
      assert.deepStrictEqual([assessed.request.risk, assessed.request.scopes], ["high", ["once"]])
      assert.isAtMost(calls(), 200)
    })
  )

  it.effect("of a pipe whose commands are fed with many names looks each up once", () =>
    Effect.gen(function* () {
      const { calls, place } = yield* counted
      const line = `${Array.from({ length: 61 }, () => "cat").join(" | ")} << END\n${words(400)}\nEND`
      verdictOn(policyOf({ place }), shell(line))
      assert.isAtMost(calls(), 500)
    })
  )

  it.effect("that needs more than the limit ends there: high risk, allowed once, and no mode allows it", () =>
    Effect.gen(function* () {
      const { calls, place, root } = yield* counted
      const folders = Array.from({ length: 20 }, (_, i) => `d${i}`)
      for (const folder of folders) mkdirSync(join(root, folder))
      // Each file is looked up in each folder next to it.
      const line = Array.from({ length: 12 }, (_, i) => `cp ${words(20, `f${i}x`)} ${folders.join(" ")}`)
      const policy = policyOf({ place, configured: [{ action: "shell", command: ["cp"], prefix: true }] })
      for (const approvalRequest of [shell(line.join("; ")), shell(line.toReversed().join(" && "))]) {
        const before = calls()
        const assessed = policy.assess(approvalRequest)
        assert.strictEqual(policy.judge(assessed)._tag, "Ask")
        assert.deepStrictEqual(
          [assessed.request.risk, assessed.request.scopes, assessed.needs],
          ["high", ["once"], undefined]
        )
        assert.strictEqual(assessed.shown.risk, "high")
        assert.strictEqual(assessed.lookups, MAX_CALLS)
        assert.strictEqual(calls() - before, MAX_CALLS)
      }
    })
  )

  it.effect("of many files of one write is as bounded", () =>
    Effect.gen(function* () {
      const { calls, place, root } = yield* counted
      const deep = "d/".repeat(40)
      mkdirSync(join(root, deep), { recursive: true })
      const files = Array.from({ length: 64 }, (_, i) => `${deep}f${i}.ts`)
      const policy = policyOf({ place, mode: "auto_edit" })
      assert.strictEqual(verdictOn(policy, request({ files, scopes: [...all] }))._tag, "Allow")
      // Whether the files' folder holds a package is looked up once.
      assert.isAtMost(calls(), 2 * 41 + 64 + 2 + manifests.length)
    })
  )

  it.effect("is a new one for each request", () =>
    Effect.gen(function* () {
      const { place, root } = yield* counted
      const policy = policyOf({ place, mode: "auto_edit" })
      const approvalRequest = request({ files: ["a/b.ts"] })
      const assessed = policy.assess(approvalRequest)
      assert.strictEqual(policy.judge(assessed)._tag, "Allow")
      symlinkSync("/etc", join(root, "a"))
      assert.strictEqual(policy.judge(assessed)._tag, "Ask")
      assert.strictEqual(verdictOn(policy, approvalRequest)._tag, "Ask")
    })
  )
})
