/** The grant `confined`: how many questions it saves, what it never allows, and when it does not apply. */
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { afterAll } from "vitest"
import { request } from "../Samples.ts"
import { requestOf, tasks } from "./ConfinedTasks.ts"
import { ConfinedTree } from "./ConfinedTree.ts"
import { all, policyOf, shell, verdictOn } from "./RunPolicies.ts"

const tree = new ConfinedTree()
afterAll(() => tree.remove())
const { place } = tree
const confined = { _tag: "Allow", by: "policy:confined" } as const
const ask = { _tag: "Ask" } as const

const granted = (mode: RunMode = "ask") => policyOf({ place, mode, hasConfinedGrant: () => true })
const steps = Object.values(tasks).flat()
const askedSteps = (policy: ReturnType<typeof policyOf>) =>
  steps.filter((step) => verdictOn(policy, requestOf(step))._tag === "Ask")

describe("The grant confined", () => {
  it("saves at least 70 % of the questions of fifty tasks", () => {
    assert.lengthOf(Object.keys(tasks), 50)
    const before = askedSteps(policyOf({ place })).length
    const after = askedSteps(granted()).length
    assert.strictEqual(before, steps.length)
    assert.isAtMost(after / before, 0.3, `${after} of ${before}`)
  })

  it("asks about these steps of the tasks, and no others", () => {
    assert.deepStrictEqual(askedSteps(granted()), [
      "git push -u origin fix/total",
      "git push",
      "gh pr create --fill",
      "npm install zod",
      "npm outdated",
      "npm update",
      "npm ci",
      "edit package.json",
      "edit .github/workflows/ci.yml",
      "edit CLAUDE.md",
      "node -e 'console.log(1 + 1)'",
      "rm src/cart/oldTotal.ts",
      "rm -rf dist",
      "git checkout -- src/api/handler.ts",
      "git stash",
      "git stash pop",
      "git fetch origin",
      "git merge origin/main",
      "fetch https://api.example.com/openapi.json",
      "curl -fsSL https://example.com/a.csv -o test/fixtures/a.csv",
      "pip install -r requirements.txt",
      "python3 -c 'import app; print(app.version)'",
      "npm version patch",
      "npm publish"
    ])
  })

  it.each([
    "git push",
    "git push origin main",
    "npm publish",
    "gh pr create --fill",
    "docker push a/b",
    "kubectl apply -f a.yml",
    "npm run release",
    "npm run deploy:prod",
    "make clean",
    "npm run db:reset",
    "./scripts/deploy.sh",
    "npx np",
    "rm src/a.ts",
    "rm -rf dist",
    "rm -rf .git",
    "rm -rf .",
    "find . -delete",
    "npx rimraf src",
    "unlink a",
    "shred a",
    "git reset --hard",
    "git clean -fd",
    "git checkout -- .",
    "git checkout main",
    "git restore .",
    "git rebase main",
    "git branch -D main",
    "git branch -f main HEAD~3",
    "git tag -d v1",
    "git stash",
    "git stash drop",
    "git gc --prune=now",
    "git commit --amend -m x",
    "git update-ref -d HEAD",
    "git reflog expire --all",
    "git filter-branch",
    "git rm -r src",
    "git commit -m x --amend",
    "git commit -am x --author=a",
    "git -C .. add .",
    "git config a b",
    "git worktree prune",
    "git merge main",
    "git apply a.patch",
    "git pull",
    "git fetch",
    "git clone https://example.com/a",
    "git mv src lib",
    "curl https://example.com",
    "wget example.com",
    "npm install",
    "npm ci",
    "pip install x",
    "cargo add x",
    "npx unknown",
    "npm uninstall zod",
    "npm pkg set a=b",
    "npm version patch",
    "yarn remove zod",
    "poetry remove x",
    "npm link",
    "echo x > package.json",
    "echo x > .env",
    "tee .npmrc",
    "cp src/api/client.ts package.json",
    "touch .envrc",
    "mv a.sh Makefile",
    "sed -i s/a/b/ package.json",
    "sort -o package.json src/api/client.ts",
    "echo x > .github/workflows/ci.yml",
    "git log --output=package.json",
    "mkdir .vscode",
    "mkdir -p .husky",
    "mkdir -p a/.git/hooks",
    "cp src/cart/total.ts .git/hooks",
    "cp -r packages/core lib",
    "cp packages/core/package.json .",
    "mv packages/core lib",
    "mv packages lib",
    "mv src /tmp",
    "echo x > ../a.ts",
    "cat ../a",
    "cat /etc/passwd",
    "cat ~/.ssh/id_rsa",
    "touch /tmp/a",
    "cd .. && npm test",
    "ls /",
    "bash -c 'npm test'",
    "sh -c ls",
    "node -e 1",
    "python -c 1",
    "eval ls",
    "xargs ls",
    "curl x | sh",
    "cat a | sh",
    "sudo ls",
    "cat $HOME/a",
    "ls *.ts",
    "echo $(npm test)",
    "PATH=. npm test",
    "NODE_OPTIONS=a npm test",
    "source a.sh",
    "> .git/config",
    "tar xf a.tar",
    "unzip a.zip",
    "patch -p1",
    "ln -s /etc a",
    "ln a b",
    "rsync -a src lib",
    "chmod +x a.sh",
    "kill 1",
    "unknown",
    "npm test && git push",
    "npm test; rm -rf src",
    "npm test | tee package.json",
    "npm test > package.json",
    ""
  ])("asks about %j", (line) => {
    assert.deepStrictEqual(verdictOn(granted(), shell(line)), ask)
  })

  it.each([
    "npm test",
    "npm run build",
    "cat .env",
    "cat package.json",
    "git add -A",
    "git commit -m x",
    "git commit -am 'remove x'",
    "npx tsc",
    "python3 -m pytest",
    "cd packages/core && npm test",
    "timeout 10 npm test",
    "CI=1 npm test",
    "npm test > test/fixtures/out.txt 2>&1",
    "cp src/api/client.ts src/api/other.ts",
    "mv src/api/client.ts src/api/b.ts",
    "bash scripts/check.sh",
    "./scripts/check.sh",
    "go test ./...",
    "make test",
    "sed -n 1,9p src/api/client.ts"
  ])("allows %j", (line) => {
    assert.deepStrictEqual(verdictOn(granted(), shell(line)), confined)
  })

  it("allows edits of ordinary files, and asks about the others", () => {
    const edit = (file: string) => verdictOn(granted(), request({ files: [file], scopes: [...all] }))
    assert.deepStrictEqual(edit("src/a.ts"), confined)
    for (const file of [
      "package.json",
      ".env",
      "../a.ts",
      ".git/config",
      "CLAUDE.md",
      "/etc/passwd",
      "scripts/try.mjs"
    ])
      assert.deepStrictEqual(edit(file), ask, file)
  })

  it("asks about tools, addresses, connections, and what a runtime offers once only", () => {
    for (const one of [
      request({ action: "shell", tool: "mcp__x__y", input: { a: 1 }, scopes: [...all] }),
      request({ action: "network", url: "https://example.com/", scopes: [...all] }),
      { ...shell("npm test"), url: "https://example.com/" },
      { ...shell("npm test"), risk: "high" as const },
      { ...shell("npm test"), action: "network" as const },
      { ...shell("npm test"), files: ["package.json"] },
      { ...shell("npm test"), scopes: ["once" as const] }
    ])
      assert.deepStrictEqual(verdictOn(granted(), one), ask)
  })

  it("asks about a request that is not shown completely", () => {
    const policy = granted()
    assert.deepStrictEqual(policy.judge(policy.assess(shell("npm test")), false), ask)
  })

  it("changes nothing in other modes", () => {
    const of = (mode: RunMode) => verdictOn(granted(mode), shell("npm test"))
    assert.deepStrictEqual(of("auto_edit"), ask)
    assert.strictEqual(of("read_only")._tag, "Deny")
    assert.strictEqual(of("plan")._tag, "Deny")
    assert.deepStrictEqual(of("full_access"), { _tag: "Allow", by: "policy:mode" })
  })

  it("ends when it is taken back, also for a run in progress", () => {
    let has = true
    const policy = policyOf({ place, hasConfinedGrant: () => has })
    assert.deepStrictEqual(verdictOn(policy, shell("npm test")), confined)
    has = false
    assert.deepStrictEqual(verdictOn(policy, shell("npm test")), ask)
  })
})
