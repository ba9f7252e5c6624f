import type { Grant, GrantRule } from "@corral/domain/Grant"
import { assert, describe, it } from "@effect/vitest"
import { request } from "../Samples.ts"
import { all, allow, policyOf, session, shell, verdictOn } from "./RunPolicies.ts"

const remembered = { _tag: "Allow", by: "policy:remembered" } as const
const workspace = { _tag: "Allow", by: "policy:workspace" } as const
const ask = { _tag: "Ask" } as const

describe("A person's answer", () => {
  it("is remembered for what was said, at most what is offered", () => {
    const policy = policyOf()
    assert.deepStrictEqual(policy.assess(shell("npm test")).request.scopes, ["once", "run", "always"])
    assert.strictEqual(allow(policy, shell("npm test"), "session").scope, "run")
    assert.strictEqual(allow(policy, { ...shell("npm test"), scopes: ["once"] }, "always").scope, "once")
    assert.strictEqual(allow(policy, { ...shell("a"), scopes: ["once", "run"] }, "always").scope, "run")
    assert.strictEqual(allow(policy, { ...shell("a"), scopes: [] }, "always").scope, "once")
  })

  it("is for once where it denies, cancels or edits", () => {
    const policy = policyOf()
    for (const more of [
      { decision: "deny" },
      { decision: "cancel" },
      { updatedInput: { command: "b" } }
    ] as const) {
      assert.strictEqual(allow(policy, shell("a"), "always", more).scope, "once")
      assert.deepStrictEqual(verdictOn(policy, shell("a")), ask)
    }
  })

  it("for the run holds in that run alone", () => {
    const grants: Array<Grant> = []
    const policy = policyOf({ grants })
    allow(policy, shell("npm test"), "run")
    assert.deepStrictEqual(verdictOn(policy, shell("npm test")), remembered)
    assert.deepStrictEqual(verdictOn(policyOf({ grants }), shell("npm test")), ask)
    assert.deepStrictEqual(grants, [])
  })

  it("for the session holds in its later runs, for ever everywhere, until it is taken back", () => {
    const grants: Array<Grant> = []
    allow(policyOf({ grants, sessionId: session }), shell("npm test"), "session")
    allow(policyOf({ grants }), shell("npm run build"), "always")
    const later = policyOf({ grants, sessionId: session })
    assert.deepStrictEqual(verdictOn(later, shell("npm test && npm run build")), remembered)
    assert.deepStrictEqual(verdictOn(policyOf({ grants }), shell("npm run build")), remembered)
    assert.deepStrictEqual(verdictOn(policyOf({ grants }), shell("npm test")), ask)
    grants.length = 0
    assert.deepStrictEqual(verdictOn(later, shell("npm run build")), ask)
  })

  it("names each part, who, when and where it was asked, once", () => {
    const grants: Array<Grant> = []
    const policy = policyOf({ grants, sessionId: session })
    allow(policy, shell("cd sub && CI=1 npm test | tee out.txt >> all.log", "api"), "session")
    allow(policy, shell("cd sub && CI=1 npm test", "api"), "session")
    assert.deepStrictEqual(
      grants.map(({ rule }) => rule),
      [
        { action: "shell", command: ["CI=1", "npm", "test"], cwd: "api/sub" },
        {
          action: "shell",
          command: ["tee", "out.txt"],
          cwd: "api/sub",
          input: "cd sub && CI=1 npm test |".slice("cd sub && ".length),
          writes: [{ file: "api/sub/all.log", append: true }]
        }
      ]
    )
    const [{ id: _, ...first } = { id: "" }] = grants
    assert.deepInclude(first, {
      workspace: "api",
      scope: "session",
      sessionId: session,
      agentId: "scripted",
      by: "local",
      createdAt: "1970-01-01T00:00:01.000Z"
    })
  })

  it("for always is kept beside one for the session", () => {
    const grants: Array<Grant> = []
    allow(policyOf({ grants, sessionId: session }), shell("npm test"), "session")
    allow(policyOf({ grants, sessionId: session }), shell("npm test && npm run build"), "always")
    allow(policyOf({ grants, sessionId: session }), shell("npm run build"), "session")
    assert.deepStrictEqual(
      grants.map(({ scope }) => scope),
      ["session", "always", "always"]
    )
    assert.deepStrictEqual(verdictOn(policyOf({ grants }), shell("npm test")), remembered)
  })

  it("for a command says nothing about where it writes, what it reads and what it is fed", () => {
    const policy = policyOf()
    allow(policy, shell("npm test"), "run")
    allow(policy, shell("echo a >> log"), "run")
    allow(policy, shell("cat one.patch | git apply"), "run")
    allow(policy, shell("cat two.patch"), "run")
    for (const line of [
      "npm test > package.json",
      "npm test < x",
      "echo a",
      "echo a > log",
      "echo a >> other",
      "git apply",
      "cat two.patch | git apply",
      "CI=1 npm test",
      "timeout 5 npm test",
      "npm test --watch"
    ]) {
      assert.deepStrictEqual(verdictOn(policy, shell(line)), ask, line)
    }
  })

  it("for a reading tool is nothing for a writing one", () => {
    const policy = policyOf()
    allow(policy, request({ tool: "Read", files: ["a.txt"], scopes: [...all] }), "run")
    assert.deepStrictEqual(verdictOn(policy, request({ tool: "Read", files: ["./a.txt"] })), remembered)
    assert.deepStrictEqual(verdictOn(policy, request({ tool: "Write", files: ["a.txt"] })), ask)
    assert.deepStrictEqual(verdictOn(policy, request({ files: ["a.txt"] })), ask)
    assert.deepStrictEqual(verdictOn(policy, shell("echo x > a.txt")), ask)
  })

  it("covers no address with a name and a password, and no other scheme", () => {
    const asked = (url: string) => request({ action: "network", tool: "Fetch", url, scopes: [...all] })
    for (const url of [
      "https://me:secret@example.com",
      "file:///etc/passwd",
      "javascript:x",
      "nothing",
      "//example.com"
    ]) {
      assert.deepStrictEqual(policyOf().assess(asked(url)).request.scopes, ["once"], url)
    }
    const policy = policyOf()
    allow(policy, asked("https://example.com/a?b"), "run")
    assert.deepStrictEqual(verdictOn(policy, asked("https://EXAMPLE.com/c")), remembered)
    for (const url of [
      "https://example.com:8443/a",
      "https://sub.example.com",
      "https://example.com.evil.example"
    ]) {
      assert.deepStrictEqual(verdictOn(policy, asked(url)), ask, url)
    }
  })

  it("shows each part of a chain, and what nobody can tell", () => {
    const { segments } = policyOf().assess(shell('timeout 5 npm test && eval "$X"')).request
    assert.deepStrictEqual(segments, [
      { text: "timeout 5 npm test", program: "npm" },
      { text: 'eval "$X"', opaque: "it changes the shell itself" }
    ])
  })
})

describe("The owner's configuration", () => {
  const configured: ReadonlyArray<GrantRule> = [
    { action: "shell", command: ["npm", "run"], prefix: true },
    { action: "shell", command: ["git", "log"], prefix: true },
    { action: "shell", command: ["node"], prefix: true },
    { action: "shell", command: ["CI=1"], prefix: true },
    { action: "shell", command: ["make", "check"] },
    { action: "shell", command: ["cargo", "test"], cwd: "core", prefix: true },
    { action: "write", files: ["src/**", "notes/*.txt"] },
    { action: "write", files: ["docs/**"], tool: "Write" },
    { action: "network", host: "example.com" }
  ]
  const policy = policyOf({ configured })

  it.each([
    "npm run build",
    "npm run build -- --mode=test && make check",
    "timeout 60 npm run build",
    "cat x | npm run build".replace("cat x | ", ""),
    "git log --oneline main..dev",
    "cd core && cargo test --all",
    "npm run build > src/out.txt",
    "make check 2>> notes/log.txt"
  ])("allows %j", (line) => {
    assert.deepStrictEqual(verdictOn(policy, shell(line)), workspace)
  })

  it.each([
    "npm test",
    "npm",
    "./npm run build",
    "CI=1 npm run build",
    "CI=1 sh x",
    "npm run build && npm publish",
    "npm run build; git push",
    "npm run $TASK",
    "npm run build -- /etc/passwd",
    "npm run build -- --out=/etc/x",
    "npm run build -- ../x",
    "npm run build > package.json",
    "npm run build > docs/x",
    "npm run build > src/.env",
    "git log --output=x",
    "git log --ext-diff",
    "node x.js",
    "make check all",
    "cargo test",
    "cd sub && npm run build",
    "cd src && npm run build > out.txt"
  ])("does not allow %j", (line) => {
    assert.deepStrictEqual(verdictOn(policy, shell(line)), ask)
  })

  it("allows files and hosts as it names them", () => {
    const write = (file: string, tool = "Edit") => verdictOn(policy, request({ files: [file], tool }))
    for (const file of ["src/main.ts", "src/a/b.ts", "notes/x.txt"])
      assert.deepStrictEqual(write(file), workspace)
    for (const file of [
      "a.ts",
      "src/.env",
      "src/.git/config",
      "src/../a.ts",
      "/src/a.ts",
      "notes/a/b.txt",
      "docs/a.md"
    ])
      assert.deepStrictEqual(write(file), ask, file)
    assert.deepStrictEqual(write("docs/a.md", "Write"), workspace)
    const fetch = (url: string) => verdictOn(policy, request({ action: "network", url }))
    assert.deepStrictEqual(fetch("https://example.com/x"), workspace)
    assert.deepStrictEqual(fetch("https://www.example.com/x"), ask)
  })

  it("and a person's answer may cover a chain together", () => {
    const both = policyOf({ configured })
    allow(both, shell("npm run build && npm test"), "run")
    assert.deepStrictEqual(verdictOn(both, shell("npm run other && npm test > src/out.txt")), remembered)
    assert.deepStrictEqual(verdictOn(both, shell("npm test > out.txt")), ask)
  })
})

describe("What does not fit a rule", () => {
  it.each([
    ["many words", shell(`echo ${"a ".repeat(1_200)}`)],
    ["a long address", request({ url: `https://${"a.".repeat(200)}example`, scopes: [...all] })],
    ["a long input", request({ tool: "send", input: "x".repeat(20_000), scopes: [...all] })],
    ["a long name", request({ tool: "x".repeat(300), input: {}, scopes: [...all] })],
    ["a long path", request({ files: ["x/".repeat(3_000)], scopes: [...all] })],
    ["many files", request({ files: Array.from({ length: 100 }, (_, i) => `f${i}`), scopes: [...all] })]
  ])("is allowed once: %s", (_, asked) => {
    assert.deepStrictEqual(policyOf().assess(asked).request.scopes, ["once"])
    assert.strictEqual(allow(policyOf(), asked, "always").scope, "once")
  })
})
