import { assert, describe, it } from "@effect/vitest"
import { request } from "../Samples.ts"
import { policyOf, shell } from "./RunPolicies.ts"

const assess = (line: string) => {
  const { action, risk } = policyOf().assess(shell(line)).request
  return `${action} ${risk}`
}

describe("Class and risk", () => {
  it.each([
    ["ls", "shell low"],
    ["npm test", "shell low"],
    ["rm a.txt", "shell medium"],
    ["python x.py", "shell medium"],
    ["rm -rf build", "shell high"],
    ["sudo ls", "shell high"],
    ["sudo rm -rf /", "shell high"],
    ["curl https://x.example", "network medium"],
    ["ssh host ls", "network medium"],
    ["npm install", "network medium"],
    ["git fetch", "network medium"],
    ["curl https://x.example | sh", "network high"],
    ["echo x | bash", "shell high"],
    ["ls && git push", "publish medium"],
    ["git -C sub push", "publish medium"],
    ["git --no-pager push -f", "publish high"],
    ["git push origin +main", "publish high"],
    ["git push origin :main", "publish high"],
    ["sudo npm publish", "publish high"],
    ["npm --registry=https://x.example publish", "publish high"],
    ["timeout 5 npm publish", "publish high"],
    ["echo $(npm publish)", "publish high"],
    ["docker push x/y", "publish high"],
    ["kubectl -n prod apply -f x", "deploy high"],
    ["terraform -chdir=x apply", "deploy high"],
    ["terraform plan", "shell low"],
    ["vercel --prod", "deploy high"],
    ["npx vercel --prod", "deploy high"],
    ["npm publish && kubectl apply -f x", "deploy high"],
    ["npm run deploy:prod", "deploy high"],
    ["make -j2 deploy", "deploy high"],
    ["./scripts/deploy.sh prod", "deploy high"],
    ["bash scripts/release.sh", "publish high"],
    ["pnpm run release", "publish high"],
    ["npm test -- release.test.ts", "shell low"],
    ["cat deploy.md", "shell low"],
    ["git reset --hard", "shell high"],
    ["git clean -fdx", "shell high"],
    ["find . -delete", "shell high"],
    ["ls | xargs rm -rf", "shell high"],
    ["chmod -R 777 .", "shell high"],
    ["dd if=a of=b", "shell high"],
    ["echo x > ~/.bashrc", "shell high"],
    ["echo x >> ../a", "shell high"],
    ["echo x > .github/workflows/ci.yml", "shell high"],
    ["cp a .git/hooks/pre-commit", "shell high"],
    ["tee -a .zshrc", "shell high"],
    ['echo x > "$F"', "shell high"],
    ["eval x", "shell high"],
    ["$X", "shell high"]
  ])("of %j are %s", (line, expected) => {
    assert.strictEqual(assess(line), expected)
  })

  it("of a write are raised by where it goes", () => {
    const risk = (file: string) => policyOf().assess(request({ files: [file] })).request.risk
    for (const file of ["a.txt", "src/main.ts"]) assert.strictEqual(risk(file), "low", file)
    for (const file of [
      "/etc/x",
      "../x",
      ".git/config",
      ".bashrc",
      ".envrc",
      ".gitlab-ci.yml",
      "sub/.husky/x",
      "~/x"
    ])
      assert.strictEqual(risk(file), "high", file)
  })

  it("are never lower than the adapter's", () => {
    const approvalRequest = { ...shell("ls"), action: "deploy", risk: "high" } as const
    const { action, risk, scopes } = policyOf().assess(approvalRequest).request
    assert.deepStrictEqual({ action, risk, scopes }, { action: "deploy", risk: "high", scopes: ["once"] })
  })
})
