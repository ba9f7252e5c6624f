import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { explainedFailure } from "../../src/confinement/FailureHints.ts"

const crashed = { code: "runtime_unavailable", message: "It ended.", details: { reason: "crashed" } } as const
const end = (stderr: string, code: number | null = 1, signal: string | null = null) => ({
  code,
  signal,
  stderr
})
const detailsOf = (...args: Parameters<typeof explainedFailure>) => explainedFailure(...args).details ?? {}

describe("explainedFailure", () => {
  it.each([
    ["Error: ENOENT: no such file or directory, open '/tmp/agent/config.json'", 1, "temporary"],
    ["/usr/bin/env: 'agent-helper': No such file or directory", 127, "hidden"],
    ["Error: Cannot find module '/opt/agent/lib.js'", 1, "hidden"],
    ["sh: 1: agent: not found", 127, "hidden"],
    ["", 126, "hidden"],
    ["mkdir: cannot create directory: Read-only file system", 1, "refused"],
    ["EACCES: permission denied, open '/home/u/.agent'", 1, "refused"],
    ["Bad system call", 1, "refused"],
    ["getaddrinfo EAI_AGAIN api.example.com", 1, "network"],
    ["curl: (6) Could not resolve host: api.example.com", 6, "network"],
    ["", 1, "unknown"],
    ["Something else.", 3, "unknown"]
  ])("of %j with code %s hints at %s", (stderr, code, confined) => {
    assert.strictEqual(detailsOf(crashed, end(stderr, code), true)["confined"], confined)
    assert.isUndefined(detailsOf(crashed, end(stderr, code), false)["confined"])
  })

  it("keeps the failure of an adapter that knows the cause", () => {
    const error = { ...crashed, details: { reason: "not_signed_in" } }
    assert.strictEqual(explainedFailure(error, end("ENOENT"), true), error)
  })

  it("gives no hint for a program that a signal ended", () => {
    assert.isUndefined(detailsOf(crashed, end("ENOENT", null, "SIGKILL"), true)["confined"])
  })

  it("keeps what the adapter quotes, and otherwise the end of stderr within its bound", () => {
    const quoted = { ...crashed, details: { reason: "crashed", said: "its words" } }
    assert.strictEqual(detailsOf(quoted, end("other"), true)["said"], "its words")
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 200 }), { maxLength: 60 }), (lines) => {
        const stderr = lines.join("\n")
        const words = detailsOf(crashed, end(stderr), false)["said"] ?? ""
        assert.isAtMost(String(words).length, 2_000)
        assert.isTrue(stderr.toWellFormed().trim().endsWith(String(words)))
        assert.strictEqual(words === "", stderr.trim() === "")
      })
    )
  })
})
