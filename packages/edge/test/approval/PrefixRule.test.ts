import type { GrantRule } from "@corral/domain/approval/Grant"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { unusableReason } from "../../src/approval/GrantRules.ts"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { temporaryFolder } from "../Folder.ts"
import { policyOf, shell, verdictOn } from "./RunPolicies.ts"

const prefix = (command: string, more: object = {}): GrantRule => ({
  action: "shell",
  command: command.split(" "),
  prefix: true,
  ...more
})

const programs = ["npm run", "make", "cat", "pytest", "uniq", "git archive", "cp", "tee", "go test"]
const configured = programs.map((command) => prefix(command))

const workspace = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const root = join(folder, "ws")
  mkdirSync(join(root, "src"), { recursive: true })
  mkdirSync(join(root, "build"))
  mkdirSync(join(root, "inside"))
  writeFileSync(join(folder, "key"), "secret")
  writeFileSync(join(root, "src", "a.ts"), "")
  writeFileSync(join(root, "package.json"), "{}")
  linkSync(join(folder, "key"), join(root, "twin.txt"))
  symlinkSync(folder, join(root, "vendor"))
  symlinkSync(join(folder, "key"), join(root, "inside", "a.ts"))
  return workspacePathsAt(root)
})

const answer = (line: string, rules: ReadonlyArray<GrantRule>, place = workspacePathsAt("/ws")) =>
  verdictOn(policyOf({ configured: rules, place }), shell(line))._tag

describe("A rule with prefix", () => {
  it.effect("covers operands in the workspace", () =>
    Effect.gen(function* () {
      const place = yield* workspace
      for (const line of [
        "npm run test",
        "npm run build",
        "make check all",
        "cat src/a.ts package.json .env src",
        "cp src/a.ts src/b.ts",
        "cp src/a.ts src",
        "pytest tests/test_a.py::test_one",
        "npm run test && cat src/a.ts"
      ])
        assert.strictEqual(answer(line, configured, place), "Allow", line)
    })
  )

  it.effect(
    "covers no option, no input, no assignment and nothing that leaves the workspace or that others obey",
    () =>
      Effect.gen(function* () {
        const place = yield* workspace
        for (const line of [
          'npm run test "--node-opt=--import=data:text/javascript,x"',
          "npm run test --userc=./rc",
          "npm run test --prefi=sub",
          "npm run test --global-c=rc",
          "npm run test --",
          "make -f - <<'E'\nall:\n\tid\nE",
          "make <<< x",
          "make < src/a.ts",
          "cat src/a.ts | make",
          "make SHELL=./x",
          "make CC=x",
          "cat <vendor/key",
          "cat < vendor/key",
          "cat vendor/key",
          "cat twin.txt",
          "cat -- vendor/key",
          "cat ./src/../vendor/key",
          "cat inside/a.ts",
          "mvn test exec:exec -Dexec.executable=id",
          "gradle -I x",
          "gradle @x",
          "pytest -p evil",
          "uniq a .claude/settings.json",
          "uniq a package.json",
          "uniq a src/CLAUDE.md",
          "cp src/a.ts inside",
          "cp src/package.json build",
          "cat src/a.ts | tee src/x.ts",
          "git archive --remote=ext::x HEAD",
          "git archive HEAD > ../x",
          "go test +x",
          "cd vendor && cat key"
        ])
          assert.strictEqual(answer(line, configured, place), "Ask", line)
      })
  )

  it("covers the options that it lists, exactly", () => {
    const rules = [prefix("npm run", { options: ["--silent", "--workspace=a"] })]
    for (const line of ["npm run test --silent", "npm run --workspace=a test"])
      assert.strictEqual(answer(line, rules), "Allow", line)
    for (const line of [
      "npm run test --sil",
      "npm run test --silent=1",
      "npm run test --workspace a",
      "npm run -silent"
    ])
      assert.strictEqual(answer(line, rules), "Ask", line)
  })

  it.effect("asks for a file that may be the value of a listed option", () =>
    Effect.gen(function* () {
      const place = yield* workspace
      const make = [prefix("make", { options: ["-f", "-s", "--", "--jobs"] }), prefix("go test -exec")]
      for (const line of ["make -s check", "make --jobs check", "make src/a.ts -s", "make -s -- src/a.ts"])
        assert.strictEqual(answer(line, make, place), "Allow", line)
      for (const line of [
        "make -f notes.txt",
        "make -f build/x.mk",
        "make -f ../x.mk",
        "make -f -s all notes.txt",
        "make -s x -f y src/a.ts",
        "make -- -f notes.txt",
        "go test -exec ./x"
      ])
        assert.strictEqual(answer(line, make, place), "Ask", line)
      const eslint = [prefix("eslint", { options: ["--rulesdir"] })]
      assert.strictEqual(answer("eslint src/a.ts --rulesdir", eslint, place), "Allow")
      assert.strictEqual(answer("eslint --rulesdir a src/a.ts", eslint, place), "Ask")
    })
  )

  it("is fed where it says so, with nothing from outside", () => {
    const rules = [prefix("wc", { stdin: true }), prefix("cat")]
    for (const line of ["cat a | wc", "wc < a", "wc <<'E'\na\nE"])
      assert.strictEqual(answer(line, rules), "Allow", line)
    for (const line of ["wc <<< text", "wc < ../a", "wc < /etc/passwd", "cat ../a | wc", "cat < a"])
      assert.strictEqual(answer(line, rules), "Ask", line)
  })

  it("is refused where it could never cover anything", () => {
    assert.isString(unusableReason({ action: "shell", command: ["make"], options: ["-f"] }))
    assert.isString(unusableReason({ action: "shell", command: ["make"], stdin: true }))
    assert.isString(unusableReason(prefix("python", { options: ["-m"] })))
    assert.include(unusableReason(prefix("npm")) ?? "", "list whole commands")
    assert.isUndefined(unusableReason(prefix("make", { options: ["-f"], stdin: true })))
  })
})
