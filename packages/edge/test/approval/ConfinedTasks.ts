/**
 * Fifty ordinary tasks of a coding agent: the requests that a runtime makes for each, as adapters report them to the Edge. Reads do not ask, so
 * they are not here, except those that runtimes do with commands. Data.
 */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"

/** A command line, a file to write as `edit PATH`, or an address as `fetch URL`. */
export type TaskStep = string

export const tasks: Readonly<Record<string, ReadonlyArray<TaskStep>>> = {
  "fix a failing test": [
    "npm test",
    "edit src/cart/total.ts",
    "npm test -- test/cart/total.test.ts",
    "npm test"
  ],
  "add a function with a test": [
    "edit src/text/slug.ts",
    "edit test/text/slug.test.ts",
    "npm test",
    "npx tsc --noEmit"
  ],
  "rename a module": [
    "git status",
    "mv src/cart/total.ts src/cart/sum.ts",
    "edit src/cart/index.ts",
    "edit test/cart/total.test.ts",
    "npm test"
  ],
  "find where a setting is read": [
    "grep -rn 'timeoutMs' src",
    "cat src/config/settings.ts",
    "git log --oneline -5"
  ],
  "fix types": ["npx tsc --noEmit", "edit src/api/handler.ts", "edit src/api/client.ts", "npx tsc --noEmit"],
  "fix lint": ["npm run lint", "edit src/api/handler.ts", "npx eslint src/api/handler.ts", "npm run lint"],
  format: ["npx prettier --check src", "npx prettier --write src/api/handler.ts", "git diff --stat"],
  "commit work": ["git status", "git diff", "git add src test", "git commit -m 'cart: count gifts'"],
  "begin a branch": [
    "git branch",
    "git checkout -b fix/total",
    "edit src/cart/total.ts",
    "git add -A",
    "git commit -m fix"
  ],
  "review history": ["git log --oneline -20", "git show HEAD~1", "git blame src/cart/total.ts"],
  "publish a branch": ["git status", "git add -A", "git commit -m done", "git push -u origin fix/total"],
  "open a pull request": ["git log main..HEAD --oneline", "git push", "gh pr create --fill"],
  "add a dependency": ["npm install zod", "edit src/config/settings.ts", "npm test"],
  "update dependencies": ["npm outdated", "npm update", "npm test"],
  "install and build": ["npm ci", "npm run build", "ls dist"],
  "build and look": ["npm run build", "ls -la dist", "head -20 dist/index.js", "wc -c dist/index.js"],
  "write documentation": ["edit docs/start.md", "edit README.md", "grep -n 'npm run' README.md"],
  "write a changelog": ["git log --oneline -30", "edit CHANGELOG.md"],
  "add a script to the package": ["edit package.json", "npm run check"],
  "change continuous integration": ["cat .github/workflows/ci.yml", "edit .github/workflows/ci.yml"],
  "change instructions of agents": ["edit CLAUDE.md"],
  "measure coverage": [
    "npx vitest run --coverage",
    "cat coverage/coverage-summary.json",
    "edit test/api/client.test.ts",
    "npx vitest run --coverage"
  ],
  "run one test": [
    "npx vitest run test/text/slug.test.ts",
    "edit src/text/slug.ts",
    "npx vitest run test/text/slug.test.ts"
  ],
  "debug with a print": [
    "edit src/api/client.ts",
    "node scripts/try.mjs",
    "edit src/api/client.ts",
    "npm test"
  ],
  "try an expression": ["node -e 'console.log(1 + 1)'"],
  "replace a word": [
    "grep -rln colour src",
    "sed -i s/colour/color/g src/api/handler.ts",
    "sed -i s/colour/color/g src/api/client.ts",
    "git diff --stat"
  ],
  "add a component": [
    "mkdir -p src/components/menu",
    "edit src/components/menu/Menu.tsx",
    "edit src/components/menu/Menu.test.tsx",
    "npm test"
  ],
  "add data for a test": [
    "mkdir -p test/fixtures",
    "edit test/fixtures/orders.json",
    "edit test/api/orders.test.ts",
    "npm test"
  ],
  "remove dead code": [
    "grep -rn oldTotal src",
    "rm src/cart/oldTotal.ts",
    "edit src/cart/index.ts",
    "npm test"
  ],
  "clean and rebuild": ["rm -rf dist", "npm run build", "ls dist"],
  "undo a change": ["git diff src/api/handler.ts", "git checkout -- src/api/handler.ts"],
  "put work aside": ["git stash", "npm test", "git stash pop"],
  "merge main": ["git fetch origin", "git merge origin/main", "npm test"],
  "read an API": ["fetch https://api.example.com/openapi.json", "edit src/api/client.ts", "npm test"],
  "download a file": [
    "curl -fsSL https://example.com/a.csv -o test/fixtures/a.csv",
    "wc -l test/fixtures/a.csv"
  ],
  "fix a Python test": [
    "pytest -q",
    "edit app/models.py",
    "pytest -q tests/test_models.py",
    "python -m pytest -q"
  ],
  "type a Python module": ["mypy app", "edit app/models.py", "mypy app", "ruff check app"],
  "format Python": ["ruff check app", "ruff format app/models.py", "git diff --stat"],
  "install Python packages": ["pip install -r requirements.txt", "pytest -q"],
  "try a Python expression": ["python3 -c 'import app; print(app.version)'"],
  "fix a Go test": ["go test ./...", "edit pkg/store/store.go", "go vet ./...", "go test ./pkg/store"],
  "fix Rust": ["cargo check", "edit src/lib.rs", "cargo clippy", "cargo test"],
  "build with make": ["make", "edit src/main.c", "make test", "git status"],
  "compare outputs": [
    "node scripts/try.mjs > test/fixtures/out.txt",
    "diff test/fixtures/out.txt test/fixtures/expected.txt"
  ],
  "search and count": ["rg --files src", "rg -c TODO src", "find src -name '*.ts'", "ls -R test | head -50"],
  "look around first": ["pwd && ls -la", "cat package.json", "git log --oneline -5", "ls src test"],
  "run checks in order": ["npm run lint && npx tsc --noEmit && npm test", "git diff | head -100"],
  "work in a package": [
    "cd packages/core && npm test",
    "edit packages/core/src/index.ts",
    "cd packages/core && npm run build"
  ],
  "reproduce a slow test": [
    "timeout 60 npm test",
    "edit src/api/client.ts",
    "timeout 60 npm test 2>&1 | tail -20"
  ],
  release: ["npm test", "edit CHANGELOG.md", "npm version patch", "npm publish"]
}

const scopes = ["once", "run", "session", "always"] as const

/** The request for a step, with the values that adapters give before the Edge raises them. */
export const requestOf = (step: TaskStep): ApprovalRequest => {
  const common = { title: step, editable: false, scopes: [...scopes] }
  const [word = "", ...rest] = step.split(" ")
  const named = rest.join(" ")
  if (word === "edit") return { ...common, action: "write", risk: "low", tool: "Edit", files: [named] }
  if (word === "fetch") return { ...common, action: "network", risk: "medium", tool: "WebFetch", url: named }
  return { ...common, action: "shell", risk: "low", tool: "Bash", command: step, cwd: "." }
}
