/**
 * Generated command lines of real programs: each is judged against prefix rules, or as what a person would allow for always; what is
 * allowed is really run, in a workspace with canaries outside.
 */
import type { GrantRule } from "@corral/domain/approval/Grant"
import { assert } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { workspacePathsAt } from "../../../src/approval/PathTarget.ts"
import type { Seeded } from "../../harness/Seeded.ts"
import { policyOf, shell, verdictOn } from "../RunPolicies.ts"
import { existingPath, pathOf } from "./GeneratedPaths.ts"
import { CANARY, FILES, FOLDERS, GeneratedTree } from "./GeneratedTree.ts"

const PER_TREE = 600
/** Lines that one process of a shell runs. */
const BATCH = 50

const prefix = (command: string, more: object = {}): GrantRule => ({
  action: "shell",
  command: command.split(" "),
  prefix: true,
  ...more
})

/** Nothing among them moves or links: what is judged before a batch would be another file in it. */
const configured: ReadonlyArray<GrantRule> = [
  prefix("cat", { options: ["-n", "--"], stdin: true }),
  prefix("head", { options: ["-n", "2"] }),
  prefix("wc", { stdin: true }),
  prefix("sort", { options: ["-r"], stdin: true }),
  prefix("uniq"),
  prefix("tee", { options: ["-a"], stdin: true }),
  prefix("cp", { options: ["-f"] }),
  prefix("touch", { options: ["-c"] }),
  prefix("mkdir", { options: ["-p"] }),
  prefix("echo"),
  prefix("printf"),
  { action: "write", files: ["**/new.csv", "**/new.ts"] }
]

const word = (random: Seeded, tree: GeneratedTree): string => {
  const path = random.whole(1, 4) === 1 ? random.pick([...FILES, ...FOLDERS]) : pathOf(random, tree)
  switch (random.whole(1, 12)) {
    case 1:
      return `'${path}'`
    case 2:
      return `"${path}"`
    case 3:
      return `${path.slice(0, 1)}""${path.slice(1)}`
    case 4:
      return `\\${path}`
    case 5:
      return random.pick(["build", "check", "a b", "x", "''", "*", "$HOME", "~", "{a,b}", "HEAD~1", "text"])
    default:
      return path
  }
}

/** Options in the ways that programs read them, many of which name a file. */
const option = (random: Seeded, tree: GeneratedTree): string => {
  const path = word(random, tree)
  return random.pick([
    "-n",
    "--",
    "-r",
    "-a",
    "-f",
    "-p",
    "-c",
    "-n 2",
    `-o ${path}`,
    `-o${path}`,
    `--output=${path}`,
    `--outp=${path}`,
    `-t ${path}`,
    `-t${path}`,
    `--target-directory=${path}`,
    `--files0-from=${path}`,
    `--reference=${path}`,
    `-r ${path}`,
    "--app",
    "-an",
    "--parents",
    `@${path}`,
    `if=${path}`,
    "+x"
  ])
}

const command = (random: Seeded, tree: GeneratedTree): string => {
  const program = random.pick([
    "cat",
    "cat",
    "head",
    "wc",
    "sort",
    "uniq",
    "tee",
    "cp",
    "cp",
    "cp",
    "touch",
    "mkdir",
    "echo",
    "printf",
    "/bin/cat",
    "timeout 5 cat"
  ])
  const words = [program]
  for (let left = random.whole(1, 3); left > 0; left--)
    words.push(random.whole(1, 5) === 1 ? option(random, tree) : word(random, tree))
  for (let left = random.whole(1, 4) === 1 ? 1 : 0; left > 0; left--) {
    const path = word(random, tree)
    words.push(
      random.pick([
        `> ${path}`,
        `>> ${path}`,
        `>| ${path}`,
        `< ${path}`,
        `<${path}`,
        `2> ${path}`,
        `&> ${path}`,
        `<> ${path}`,
        `0< ${path}`,
        `<<< ${path}`,
        `<<'E'\n${path}\nE\n`
      ])
    )
  }
  return words.join(" ")
}

/** Lines in which a file that is there is really read or written, each in another way. */
const working = (random: Seeded, tree: GeneratedTree): string => {
  const [one, other] = [existingPath(random, tree), existingPath(random, tree)]
  return random.pick([
    `cat ${one}`,
    `cat < ${one}`,
    `cat - < ${one}`,
    `sort < ${one} | cat`,
    `{ cat; } < ${one}`,
    `cat <<E | wc\n${one}\nE`,
    `wc --files0-from=- <<< ${one}`,
    `cat ${one} > new.csv`,
    `echo x > ${one}`,
    `echo x | tee ${one}`,
    `echo x | tee -a ${one}`,
    `cp ${one} ${other}`,
    `cp ${one} ${other}`,
    `cp ${one} ${other}/`,
    `cp -f ${one} ${other}`,
    `cp -t ${one} ${other}`,
    `cp -t${one} ${other}`,
    `cp --target-directory=${one} ${other}`,
    `cp --targ=${one} ${other}`,
    `sort -o ${one} ${other}`,
    `sort -o${one} ${other}`,
    `sort -ro${one} ${other}`,
    `sort --output=${one} ${other}`,
    `uniq ${one} ${other}`,
    `touch ${one}`,
    `touch -r ${one} ${other}`,
    `mkdir -p ${one}/new`,
    `cd ${one} && cat key`,
    `cd ${one} && cat ../outside/key`,
    `cd ${one} && echo x > new.csv`,
    `cd ${one} && touch ${random.pick(FILES)}`,
    `timeout 5 tee ${one} < ${other}`
  ])
}

const lineOf = (random: Seeded, tree: GeneratedTree): string => {
  if (random.whole(1, 3) === 1) return working(random, tree)
  const one = command(random, tree)
  switch (random.whole(1, 10)) {
    case 1:
      return `${one} | ${command(random, tree)}`
    case 2:
      return `${one} && ${command(random, tree)}`
    case 3:
      return `cd ${word(random, tree)} && ${one}`
    case 4:
      return `{ ${one}; } ${random.pick([">", "<", ">>"])} ${word(random, tree)}`
    case 5:
      return `NAME=${word(random, tree)} ${one}`
    default:
      return one
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Runs lines in one process of a shell, each in its own process, and returns the output. */
const run = (tree: GeneratedTree, program: string, lines: ReadonlyArray<string>): string => {
  const output = join(tree.folder, "output")
  mkdirSync(output)
  const script = lines
    .map(
      (line, i) =>
        `( cd ${quoted(tree.root)} && eval ${quoted(line)} ) > ${output}/${i} 2>/dev/null </dev/null`
    )
    .join("\n")
  const input = openSync("/dev/null", "r")
  const ended = spawnSync(program, ["-c", script], {
    cwd: tree.root,
    stdio: [input, "ignore", "ignore"],
    timeout: 60_000,
    killSignal: "SIGKILL",
    env: { PATH: process.env["PATH"] ?? "", HOME: tree.outside }
  })
  closeSync(input)
  assert.isUndefined(ended.error, `a hang of ${program} in ${JSON.stringify(lines)}`)
  const printed = readdirSync(output).map((name) => readFileSync(join(output, name), "utf8"))
  rmSync(output, { recursive: true })
  return printed.join("\n")
}

/** Copies that walk folders or keep links: what they meet on the way is not in their words. */
const walks = (line: string): boolean => /cp/.test(line) && / (-[a-z]*[ra]|--(app|parents))/.test(line)

/** Judges command lines and runs allowed ones: half by rules, half by what a person may have remembered. */
export const fuzzCommands = (
  random: Seeded,
  wanted: { readonly judgedCount: number; readonly ran: number }
) => {
  let judgedCount = 0
  let allowed = 0
  let ran = 0
  while (judgedCount < wanted.judgedCount || ran < wanted.ran) {
    const tree = new GeneratedTree(random)
    const place = workspacePathsAt(tree.root)
    const byRule = random.whole(0, 1) === 0
    const policy = policyOf(byRule ? { configured, place } : { place })
    const isAllowed = (line: string): boolean =>
      byRule
        ? verdictOn(policy, shell(line))._tag === "Allow"
        : policy.assess(shell(line)).request.scopes.includes("always") && !walks(line)
    let pending: Array<string> = []
    const carryOut = (): void => {
      const printed = run(tree, random.pick(["/bin/sh", "/bin/bash"]), pending)
      const found = tree.violations(byRule ? "anywhere" : "outside")
      assert.deepStrictEqual(found, [], `after running ${JSON.stringify(pending)}`)
      assert.notInclude(printed, CANARY, `printed by ${JSON.stringify(pending)}`)
      ran += pending.length
      pending = []
    }
    for (let left = PER_TREE; left > 0; left--) {
      const line = lineOf(random, tree)
      judgedCount++
      if (!isAllowed(line)) continue
      allowed++
      if (ran < wanted.ran) pending.push(line)
      if (pending.length >= BATCH) carryOut()
    }
    if (pending.length > 0) carryOut()
    tree.remove()
  }
  return { judged: judgedCount, allowed, ran }
}
