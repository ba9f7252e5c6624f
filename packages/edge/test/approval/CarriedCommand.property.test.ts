/** Generated rules and lines: no program outside the allowlist is widened, and no operand of one inside it carries code. */
import type { GrantRule } from "@corral/domain/approval/Grant"
import { assert, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { unusableReason } from "../../src/approval/GrantRules.ts"
import { Seeded } from "../harness/Seeded.ts"
import { place, policyOf, shell, verdictOn } from "./RunPolicies.ts"

const random = new Seeded("prefix programs")

const one = (words: ReadonlyArray<string>): string => words[random.whole(0, words.length - 1)] ?? ""

const rule = (command: string, options?: ReadonlyArray<string>): GrantRule & { action: "shell" } => ({
  action: "shell",
  command: command.split(" "),
  prefix: true,
  ...(options === undefined ? {} : { options })
})

const answer = (line: string, rules: ReadonlyArray<GrantRule>) =>
  verdictOn(policyOf({ configured: rules, place }), shell(line))._tag

/** Rules that the configuration refuses, and a command that each would have allowed. */
const refused = (
  "npm>ini evil|npm>cr evil|npm>install evil|npm install>evil|pip install>./sub|uv add>evil|gem install>evil|composer require>x|bundle>e id|" +
  "pnpm>node evil.js|pnpm install>evil|yarn>set version ./evil.js|yarn>plugin import x|yarn>tsx evil.js|yarn run>tsx evil.js|deno>evil.js|" +
  "deno>npm:evil|bun>evil.js|bun run>evil.js|mvn test>exec:exec|mvn>com.evil:plugin:1.0:run|gradle>x|composer>exec id|lerna>exec id|nx>exec id|" +
  "stack>exec id|cabal>exec id|rbenv>exec id|pyenv>exec id|fnm>exec id|rustup>run nightly id|volta>run id|pixi>run id|dagger>run id|" +
  "corepack>pnpm dlx evil|jj>util exec id|mix>cmd id|rails>runner x|wp>eval x|rename>'system \"id\"' a|gsed>1e a|gtimeout>5 id|genv>id|" +
  "gxargs>id|caffeinate>id|sg>users|arch>id|electron>x|zx>x|vite-node>x.ts|dart>x|java>x.java|ocaml>x.ml|qjs>x|coverage>run x|gnuplot>x|" +
  "octave>x.m|lualatex>x.tex|tar>xf data.txt|unzip>x.zip|patch>a b|git>apply notes.txt|git apply>notes.txt|git am>notes.txt|" +
  "git checkout>evil|git switch>evil|git restore>x|git merge>evil|git stash>pop|git clone>x|git bundle>x|git submodule>add x|git config>x|" +
  "git pull>x|git remote>add x|git worktree>add x|vitest>init|biome>migrate|cargo>evil|cargo run>x|cargo install>x|go>evil|go run>x|" +
  "go install>x|ruff>x|./cat>x|bin/make>x|./npm run>x|mocha>x|curl>x|docker>x|kubectl>get x|rm>x|ln>a b|dd>x|chmod>x|find>."
).split("|")

const widened = (
  "npm run|npm test|pnpm run|pnpm test|yarn run build|yarn test|cargo test|cargo build|cargo check|cargo clippy|cargo fmt|go test|go build|" +
  "go vet|git status|git log|git add|git commit|make|just|vitest run|jest|pytest|eslint|prettier|tsc|oxlint|biome check|ruff check|black|" +
  "mypy|gofmt|rustfmt|mkdir|touch|cp|mv"
).split("|")
const reading = "cat|/usr/bin/cat|ls|head|tail|grep|rg|wc|diff|sort".split("|")

describe("The allowlist of programs with prefix", () => {
  it.each(refused)("refuses %j at the start", (each) => {
    const [command = "", operands = ""] = each.split(">")
    assert.match(unusableReason(rule(command)) ?? "", /list whole commands|runs another program/, command)
    assert.strictEqual(answer(`${command} ${operands}`, [rule(command)]), "Ask")
  })

  it.each([...widened, ...reading])("accepts %j", (command) => {
    assert.isUndefined(unusableReason(rule(command)))
    assert.strictEqual(answer(`${command} one two`, [rule(command)]), "Allow")
  })

  it("refuses unknown programs and unknown subcommands", () => {
    for (let left = 500 * effort; left > 0; left--) {
      const program = one([
        "npm",
        "pnpm",
        "yarn",
        "cargo",
        "go",
        "git",
        "vitest",
        "biome",
        "ruff",
        "x",
        "tool"
      ])
      const subcommand = Array.from({ length: random.whole(1, 4) }, () => one([..."bcefhjkxz"])).join("")
      const command = `${program} ${subcommand}q`
      assert.isString(unusableReason(rule(command)), command)
      assert.strictEqual(answer(`${command} ${one(["id", "x.js", "evil"])}`, [rule(command)]), "Ask")
    }
  })
})

describe("A rule with prefix for a program that does more than read", () => {
  const code = (): string =>
    random.pick<() => string>([
      () => `a${one([...' ;|&$`<>()[]{}*?!~^%#"\\\n\t'])}${one(["touch", "id", "x"])}`,
      () => `${one([..." ;|&`*?!~%#^[{("])}nvrc`,
      () => `:${one(["(glob)*nvrc", "(top)x", "/x", "!x", "x"])}`,
      () => `é${random.whole(1, 9)}`
    ])()

  it("takes no operand that is a pattern, a pathspec or code", () => {
    for (let left = 500 * effort; left > 0; left--) {
      const command = one(widened)
      const line = `${command} ${one(["", "one "])}'${code()}'`
      assert.strictEqual(answer(line, [rule(command)]), "Ask", line)
    }
  })

  it("takes no file after a listed option", () => {
    const runs = widened.filter((command) => !/^(git .*|mkdir|touch|cp|mv)$/.test(command))
    for (let left = 500 * effort; left > 0; left--) {
      const command = one(runs)
      const option = one(["-x", "--setup", "--file", "-I", "--plugin"])
      const file = one(["notes.txt", "./x", "sub/x", "x.js", ".x"])
      const between = one(["", "one ", "-- --second ", "-y "])
      const line = `${command} ${option} ${between}${file}`
      assert.strictEqual(answer(line, [rule(command, [option, "--", "--second", "-y"])]), "Ask", line)
    }
  })

  it("does not let pytest run the examples of a text", () => {
    for (const line of ["pytest notes.txt", "pytest src/a.rst", "pytest a.TXT::x"])
      assert.strictEqual(answer(line, [rule("pytest")]), "Ask", line)
  })
})
