import type { Grant, GrantRule } from "@corral/domain/approval/Grant"
import { Redaction } from "@corral/redaction/Redaction"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { temporaryFolder } from "../Folder.ts"
import { approvalIdOf, request } from "../Samples.ts"
import { all, allow, isRemembered, policyOf, session, shell, verdictOn } from "./RunPolicies.ts"

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
    assert.isTrue(isRemembered(policy, shell("npm test")))
    assert.deepStrictEqual(verdictOn(policyOf({ grants }), shell("npm test")), ask)
    assert.deepStrictEqual(grants, [])
  })

  it("for the session holds in its later runs, for ever everywhere, until it is taken back", () => {
    const grants: Array<Grant> = []
    allow(policyOf({ grants, sessionId: session }), shell("npm test"), "session")
    allow(policyOf({ grants }), shell("npm run build"), "always")
    const later = policyOf({ grants, sessionId: session })
    assert.isTrue(isRemembered(later, shell("npm test && npm run build")))
    assert.isTrue(isRemembered(policyOf({ grants }), shell("npm run build")))
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
    assert.isTrue(isRemembered(policyOf({ grants }), shell("npm test")))
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
    assert.isTrue(isRemembered(policy, request({ tool: "Read", files: ["./a.txt"] })))
    assert.deepStrictEqual(verdictOn(policy, request({ tool: "Write", files: ["a.txt"] })), ask)
    assert.deepStrictEqual(verdictOn(policy, request({ files: ["a.txt"] })), ask)
    assert.deepStrictEqual(verdictOn(policy, shell("echo x > a.txt")), ask)
  })

  it("for a tool that names a file or an address is nothing for another input of it", () => {
    for (const more of [
      { action: "network", files: ["a.txt"] },
      { action: "shell", files: ["a.txt"] },
      { action: "shell", url: "https://example.com" }
    ] as const) {
      const approvalRequest = (input: unknown) =>
        request({ tool: "mcp__x__run", input, ...more, scopes: [...all] })
      const policy = policyOf()
      allow(policy, approvalRequest({ path: "a.txt", script: "one" }), "run")
      assert.isTrue(isRemembered(policy, approvalRequest({ path: "a.txt", script: "one" })))
      assert.deepStrictEqual(verdictOn(policy, approvalRequest({ path: "a.txt", script: "two" })), ask)
    }
  })

  it("covers nothing that the runtime offers for once alone", () => {
    const policy = policyOf({ configured: [{ action: "shell", command: ["npm", "test"] }] })
    allow(policy, shell("npm test && npm run build"), "run")
    assert.deepStrictEqual(verdictOn(policy, { ...shell("npm test"), scopes: ["once"] }), ask)
    assert.deepStrictEqual(verdictOn(policy, { ...shell("npm run build"), scopes: [] }), ask)
  })

  it("is named in the verdict: grants by their ids, the run's own memory by its approval, each once", () => {
    const grants: Array<Grant> = []
    const configured: ReadonlyArray<GrantRule> = [{ action: "shell", command: ["ls"] }]
    const policy = policyOf({ grants, configured })
    allow(policy, shell("npm test"), "always")
    allow(policy, shell("npm run build"), "run")
    const by = (line: string) => {
      const verdict = verdictOn(policy, shell(line))
      return verdict._tag === "Allow" ? verdict.by : undefined
    }
    assert.strictEqual(by("ls"), "policy:workspace")
    assert.strictEqual(
      by("ls; npm test; npm run build; npm test"),
      `policy:remembered:${grants[0]?.id},${approvalIdOf(1)}`
    )
  })

  it("covers no address with a name and a password, and no other scheme", () => {
    const approvalRequest = (url: string) =>
      request({ action: "network", tool: "Fetch", url, scopes: [...all] })
    for (const url of [
      "https://me:secret@example.com",
      "file:///etc/passwd",
      "javascript:x",
      "nothing",
      "//example.com"
    ]) {
      assert.deepStrictEqual(policyOf().assess(approvalRequest(url)).request.scopes, ["once"], url)
    }
    const policy = policyOf()
    allow(policy, approvalRequest("https://example.com/a?b"), "run")
    assert.isTrue(isRemembered(policy, approvalRequest("https://EXAMPLE.com/c")))
    for (const url of [
      "https://example.com:8443/a",
      "https://sub.example.com",
      "https://example.com.evil.example"
    ]) {
      assert.deepStrictEqual(verdictOn(policy, approvalRequest(url)), ask, url)
    }
  })

  it("shows no line of a private key in the parts of a command", () => {
    const key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKC\nAQEAvx7zzzz\n-----END RSA PRIVATE KEY-----"
    const approvalRequest = shell(`echo ${key}\nPASSWORD=hunter2x npm test`)
    const { request, shown } = policyOf().assess(approvalRequest, new Redaction().value(approvalRequest))
    assert.include(request.command, "MIIEowIBAAKC", "it is judged as it is")
    for (const secret of ["MIIEowIBAAKC", "AQEAvx7zzzz", "hunter2x"])
      assert.notInclude(JSON.stringify(shown), secret)
    assert.include(JSON.stringify(shown.segments), "npm test")
  })

  it("shows each part of a chain, and parts whose effect is unknown", () => {
    const { segments } = policyOf().assess(shell('timeout 5 npm test && eval "$X"')).shown
    assert.deepStrictEqual(segments, [
      { text: "timeout 5 npm test", program: "npm" },
      { text: 'eval "$X"', opaque: "it changes the shell itself" }
    ])
  })
})

describe("The owner's configuration", () => {
  const configured: ReadonlyArray<GrantRule> = [
    {
      action: "shell",
      command: ["npm", "run"],
      prefix: true,
      options: ["--", "--mode=test", "--filter=./src", "@scope/name"],
      stdin: true
    },
    { action: "shell", command: ["git", "log"], prefix: true, options: ["--oneline"] },
    { action: "shell", command: ["node"], prefix: true },
    { action: "shell", command: ["CI=1"], prefix: true },
    { action: "shell", command: ["make", "check"] },
    { action: "shell", command: ["cargo", "test"], cwd: "core", prefix: true, options: ["--all"] },
    { action: "write", files: ["src/**", "notes/*.txt"] },
    { action: "write", files: ["docs/**"], tool: "Write" },
    { action: "network", host: "example.com" }
  ]
  const policy = policyOf({ configured })

  it.each([
    "npm run build",
    "npm run build -- --mode=test && make check",
    "timeout 60 npm run build",
    "npm run build -- @scope/name --filter=./src HEAD v1..v2",
    "npm run build < src/in.txt",
    "git log --oneline | npm run count",
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
    "env CI=1 npm run build",
    "timeout 5 env CI=1 npm run build",
    "npm run build -- @/etc/passwd",
    "npm run build -- -C/etc",
    "npm run build -- -xC..",
    "npm run build -- --file=@../x",
    "npm run build < /etc/passwd",
    "npm run build < ../x",
    "npm run build > src/out.txt/",
    "npm run build <<< '~/x'",
    "npm run build 2>(git push)",
    "npm run build $'x'",
    "npm run build && npm publish",
    "npm run build; git push",
    "npm run $TASK",
    "npm run build -- /etc/passwd",
    "npm run build -- --out=/etc/x",
    "npm run build -- ../x",
    "npm run build > package.json",
    "npm run build > docs/x",
    "npm run build > src/.env",
    "npm run build --mode=tests",
    "npm run build --mode",
    "git log --one",
    "git log --all",
    "git log < src/in.txt",
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

  it.effect("follows links that an argument names", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      mkdirSync(join(root, ".git"))
      mkdirSync(join(root, "sub"))
      symlinkSync("/etc", join(root, "out"))
      symlinkSync(".git", join(root, "g"))
      symlinkSync("sub", join(root, "in"))
      const policy = policyOf({
        configured: [{ action: "shell", command: ["cat"], prefix: true, options: ["-n"] }],
        place: workspacePathsAt(root)
      })
      for (const line of ["cat a", "cat sub/a", "cat in/a", "cat -n in/a"])
        assert.deepStrictEqual(verdictOn(policy, shell(line)), workspace, line)
      for (const line of [
        "cat out/passwd",
        "cat out",
        "cat --from=out/passwd",
        "cat -fout/passwd",
        "cat g/config"
      ])
        assert.deepStrictEqual(verdictOn(policy, shell(line)), ask, line)
    })
  )

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
    assert.isTrue(isRemembered(both, shell("npm run other && npm test > src/out.txt")))
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
  ])("is allowed once: %s", (_, requested) => {
    assert.deepStrictEqual(policyOf().assess(requested).request.scopes, ["once"])
    assert.strictEqual(allow(policyOf(), requested, "always").scope, "once")
  })
})
