import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Effect, Schema } from "effect"
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { delimiter, join } from "node:path"
import { childEnvironment, findProgram } from "../../src/process/ChildEnvironment.ts"
import { temporaryFolder, writeProgram } from "../Folder.ts"

const cwd = "/srv/space"
const temporary = "/srv/tmp/run"
const environmentOf = (
  edgeEnvironment: Record<string, string>,
  pass: ReadonlyArray<string> = [],
  set: Record<string, string> = {}
) => childEnvironment({ edge: { HOME: "/home/ada", ...edgeEnvironment }, pass, set, cwd, temporary })
const standing = {
  HOME: "/home/ada",
  TMPDIR: temporary,
  TMP: temporary,
  TEMP: temporary,
  NO_COLOR: "1",
  TERM: "dumb",
  PWD: cwd
}

const Name = Schema.Literals([
  "CORRAL_EDGE_TOKEN_FILE",
  "CORRAL_",
  "CORRAL_X",
  "CORRAL",
  "PATH",
  "LC_ALL",
  "LC_",
  "ANTHROPIC_API_KEY",
  "AWS_SECRET_ACCESS_KEY",
  "SSH_AUTH_SOCK",
  "__proto__",
  "constructor"
])
const Pattern = Schema.Literals([
  "*",
  "C*",
  "CORRAL*",
  "CORRAL_*",
  "CORRAL_X",
  "ANTHROPIC_*",
  "AWS_SECRET_ACCESS_KEY",
  ""
])

describe("childEnvironment", () => {
  it.prop(
    "removes all of Corral's names, regardless of what an adapter asks for",
    [
      Arbitrary.array(Arbitrary.schema(Name)),
      Arbitrary.array(Arbitrary.schema(Pattern)),
      Schema.Record(Schema.String, Schema.String)
    ],
    ([names, patterns, more]) => {
      const edgeEnvironment = Object.fromEntries([
        ...names.map((name) => [name, "secret"] as const),
        ...Object.entries(more)
      ])
      const passed = Object.keys(environmentOf(edgeEnvironment, patterns)).filter((name) =>
        name.startsWith("CORRAL_")
      )
      assert.deepStrictEqual(passed, [])
    },
    { arbitrary: { runs: 300 } }
  )

  it("lets pass what any program needs, and nothing else", () => {
    const needed = {
      PATH: "/bin",
      HOME: "/home/ann",
      USER: "one",
      LOGNAME: "one",
      SHELL: "/bin/sh",
      LANG: "C",
      LC_ALL: "C",
      TZ: "UTC",
      TMPDIR: "/tmp",
      SSL_CERT_FILE: "/c.pem",
      SSL_CERT_DIR: "/c",
      NODE_EXTRA_CA_CERTS: "/c.pem"
    }
    const edgeEnvironment = { TMPDIR: temporary }
    const stored = {
      XDG_RUNTIME_DIR: "/run/user/1",
      ANTHROPIC_API_KEY: "k",
      AWS_SECRET_ACCESS_KEY: "k",
      SSH_AUTH_SOCK: "/s",
      NODE_OPTIONS: "--inspect",
      LD_PRELOAD: "/x.so",
      GITHUB_TOKEN: "t",
      PATHS: "x",
      XLC_ALL: "x",
      path: "x",
      CORRAL_HOME: "/h"
    }
    assert.deepStrictEqual(environmentOf({ ...needed, ...stored }), {
      ...standing,
      ...needed,
      ...edgeEnvironment
    })
  })

  it("lets pass what the runtime asks for, by name or prefix", () => {
    const edgeEnvironment = {
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_MODEL: "m",
      OPENAI_API_KEY: "o",
      ANTHROPIC: "x"
    }
    assert.deepStrictEqual(environmentOf(edgeEnvironment, ["ANTHROPIC_*"]), {
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_MODEL: "m",
      ...standing
    })
    assert.deepStrictEqual(environmentOf(edgeEnvironment, ["OPENAI_API_KEY"]), {
      OPENAI_API_KEY: "o",
      ...standing
    })
  })

  it("names the owner's home where the Edge's own environment does not", () => {
    assert.strictEqual(environmentOf({ HOME: "" })["HOME"], homedir())
  })

  it("takes what adapter and run set over its own, but never another PWD", () => {
    const set = { TERM: "xterm", LANG: "de", PWD: "/elsewhere", EXTRA: "1" }
    assert.deepStrictEqual(environmentOf({ LANG: "C", PWD: "/old", TERM: "vt100" }, ["PWD"], set), {
      ...standing,
      NO_COLOR: "1",
      TERM: "xterm",
      LANG: "de",
      EXTRA: "1",
      PWD: cwd
    })
  })
})

describe("findProgram", () => {
  it.effect("finds the first executable file of that name", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const [a, b, c] = ["a", "b", "c"].map((name) => join(folder, name)) as [string, string, string]
      mkdirSync(join(a, "tool"), { recursive: true })
      mkdirSync(b)
      writeFileSync(join(b, "tool"), "")
      chmodSync(join(b, "tool"), 0o644)
      const tool = writeProgram(join(c, "tool"), "true")
      const path = [a, b, c, folder].join(delimiter)
      assert.strictEqual(findProgram("tool", path), tool, "not a folder, not a file that cannot be run")
      assert.isUndefined(findProgram("other", path))
      assert.isUndefined(findProgram("tool", undefined))
      assert.isUndefined(findProgram("tool", ""))
      assert.strictEqual(findProgram(tool, undefined), tool)
      assert.isUndefined(findProgram(join(b, "tool"), path))
      const link = join(folder, "link")
      symlinkSync(tool, link)
      assert.strictEqual(findProgram("link", folder), link)
    })
  )

  it.effect("never looks where the Edge happens to stand", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const tool = writeProgram(join(folder, "tool"), "true")
      const before = process.cwd()
      yield* Effect.acquireRelease(
        Effect.sync(() => process.chdir(folder)),
        () => Effect.sync(() => process.chdir(before))
      )
      for (const path of ["", ".", "./", `${delimiter}.`]) assert.isUndefined(findProgram("tool", path))
      assert.strictEqual(findProgram("tool", `.${delimiter}${folder}`), tool)
    })
  )
})
