/** Made from the contract by `npm run generate`. */
export const edgePaths = {
  health: {
    health: ["GET", "/health"],
    v1Health: ["GET", "/v1/health"],
    live: ["GET", "/health/live"]
  },
  agents: {
    list: ["GET", "/v1/agents"],
    listRunners: ["GET", "/v1/runners"]
  },
  presets: {
    list: ["GET", "/v1/presets"],
    create: ["POST", "/v1/presets"],
    update: ["PATCH", "/v1/presets/:id"],
    remove: ["DELETE", "/v1/presets/:id"]
  },
  workspaces: {
    list: ["GET", "/v1/workspaces"]
  },
  files: {
    files: ["GET", "/v1/workspaces/:id/files"],
    file: ["GET", "/v1/workspaces/:id/file"],
    find: ["GET", "/v1/workspaces/:id/find"]
  },
  runs: {
    list: ["GET", "/v1/runs"],
    create: ["POST", "/v1/runs"],
    get: ["GET", "/v1/runs/:id"],
    cancel: ["POST", "/v1/runs/:id/cancel"],
    pause: ["POST", "/v1/runs/:id/pause"],
    resume: ["POST", "/v1/runs/:id/resume"],
    finish: ["POST", "/v1/runs/:id/finish"],
    input: ["POST", "/v1/runs/:id/input"],
    result: ["GET", "/v1/runs/:id/result"],
    raw: ["GET", "/v1/runs/:id/raw", "bytes"],
    events: ["GET", "/v1/runs/:id/events"]
  },
  diffs: {
    diff: ["GET", "/v1/runs/:id/diff"]
  },
  changes: {
    get: ["GET", "/v1/runs/:id/changes"],
    file: ["GET", "/v1/runs/:id/changes/files/:fileId"],
    accept: ["POST", "/v1/runs/:id/changes/accept"],
    reject: ["POST", "/v1/runs/:id/changes/reject"],
    undo: ["POST", "/v1/runs/:id/changes/undo"]
  },
  worktrees: {
    list: ["GET", "/v1/worktrees"],
    get: ["GET", "/v1/runs/:id/worktree"],
    commits: ["GET", "/v1/runs/:id/worktree/commits"],
    restoreRepository: ["POST", "/v1/runs/:id/repository/restore"],
    remove: ["DELETE", "/v1/runs/:id/worktree"]
  },
  layers: {
    list: ["GET", "/v1/layers"],
    remove: ["DELETE", "/v1/runs/:id/layer"]
  },
  artifacts: {
    list: ["GET", "/v1/runs/:id/artifacts"],
    publish: ["POST", "/v1/runs/:id/artifacts"],
    get: ["GET", "/v1/artifacts/:id"],
    content: ["GET", "/v1/artifacts/:id/content", "bytes"]
  },
  previews: {
    list: ["GET", "/v1/runs/:id/previews"],
    create: ["POST", "/v1/previews"],
    get: ["GET", "/v1/previews/:id"],
    remove: ["DELETE", "/v1/previews/:id"]
  },
  permissions: {
    list: ["GET", "/v1/permissions"],
    get: ["GET", "/v1/permissions/:id"],
    decide: ["POST", "/v1/permissions/decide"]
  },
  inputs: {
    list: ["GET", "/v1/inputs"],
    get: ["GET", "/v1/inputs/:id"],
    answer: ["POST", "/v1/inputs/answer"]
  },
  grants: {
    list: ["GET", "/v1/grants"],
    remove: ["DELETE", "/v1/grants/:id"]
  },
  link: {
    rotate: ["POST", "/v1/link/rotate"]
  }
} as const
