/** Made from the contract by `npm run generate`. */
export const hubPaths = {
  public: {
    health: ["GET", "/health"],
    live: ["GET", "/health/live"],
    publicHealth: ["GET", "/api/public/health"],
    publicStats: ["GET", "/api/public/stats"]
  },
  signIn: {
    login: ["GET", "/client/auth/login"],
    callback: ["GET", "/client/auth/callback"],
    deviceStart: ["POST", "/client/auth/device/start"],
    deviceToken: ["POST", "/client/auth/device/token"],
    backchannelLogout: ["POST", "/client/auth/backchannel-logout"]
  },
  auth: {
    me: ["GET", "/client/auth/me"],
    refresh: ["POST", "/client/auth/refresh"],
    logout: ["POST", "/client/auth/logout"],
    sessions: ["GET", "/client/auth/sessions"],
    endSession: ["DELETE", "/client/auth/sessions/:id"],
    endOtherSessions: ["DELETE", "/client/auth/sessions"],
    deviceWaiting: ["GET", "/client/auth/device"],
    deviceApprove: ["POST", "/client/auth/device/approve"]
  },
  apiKeys: {
    list: ["GET", "/client/auth/keys"],
    create: ["POST", "/client/auth/keys"],
    remove: ["DELETE", "/client/auth/keys/:id"]
  },
  sessions: {
    list: ["GET", "/client/sessions"],
    create: ["POST", "/client/sessions"],
    get: ["GET", "/client/sessions/:id"],
    update: ["PATCH", "/client/sessions/:id"],
    messages: ["GET", "/client/sessions/:id/messages"],
    message: ["GET", "/client/sessions/:id/messages/:messageId"],
    addMessage: ["POST", "/client/sessions/:id/messages"],
    updateMessage: ["PATCH", "/client/sessions/:id/messages/:messageId"],
    withdrawMessage: ["POST", "/client/sessions/:id/messages/:messageId/withdraw"],
    retryMessage: ["POST", "/client/sessions/:id/messages/:messageId/retry"],
    agents: ["GET", "/client/sessions/:id/agents"],
    addAgent: ["POST", "/client/sessions/:id/agents"],
    updateAgent: ["PATCH", "/client/sessions/:id/agents/:agentInstanceId"],
    removeAgent: ["DELETE", "/client/sessions/:id/agents"],
    continueAgent: ["POST", "/client/sessions/:id/agents/:agentInstanceId/continue"],
    inventory: ["GET", "/client/agents"]
  },
  conversations: {
    read: ["POST", "/client/sessions/:id/read"],
    export: ["GET", "/client/sessions/:id/export", "bytes"],
    fork: ["POST", "/client/sessions/:id/fork"]
  },
  uploads: {
    create: ["POST", "/client/uploads"],
    content: ["GET", "/client/uploads/:id", "bytes"]
  },
  search: {
    find: ["GET", "/client/search"]
  },
  projects: {
    list: ["GET", "/client/projects"],
    create: ["POST", "/client/projects"],
    get: ["GET", "/client/projects/:id"],
    update: ["PATCH", "/client/projects/:id"],
    remove: ["DELETE", "/client/projects/:id"],
    members: ["GET", "/client/projects/:id/members"],
    addMember: ["POST", "/client/projects/:id/members"],
    updateMember: ["PATCH", "/client/projects/:id/members/:userId"],
    removeMember: ["DELETE", "/client/projects/:id/members/:userId"],
    workspaces: ["GET", "/client/projects/:id/workspaces"],
    linkWorkspace: ["POST", "/client/projects/:id/workspaces"],
    unlinkWorkspace: ["DELETE", "/client/projects/:id/workspaces/:targetId/:workspace"]
  },
  deviceRegistration: {
    register: ["POST", "/client/devices/register"]
  },
  devices: {
    list: ["GET", "/client/devices"],
    createJoinToken: ["POST", "/client/devices/join-tokens"],
    get: ["GET", "/client/devices/:id"],
    update: ["PATCH", "/client/devices/:id"],
    remove: ["DELETE", "/client/devices/:id"],
    targets: ["GET", "/client/targets"]
  },
  presets: {
    list: ["GET", "/client/devices/:id/presets"],
    create: ["POST", "/client/devices/:id/presets"],
    update: ["PATCH", "/client/devices/:id/presets/:presetId"],
    remove: ["DELETE", "/client/devices/:id/presets/:presetId"]
  },
  files: {
    folder: ["GET", "/client/targets/:id/workspaces/:workspace/files"],
    file: ["GET", "/client/targets/:id/workspaces/:workspace/file"],
    find: ["GET", "/client/targets/:id/workspaces/:workspace/find"]
  },
  tasks: {
    create: ["POST", "/web/agent-tasks"],
    list: ["GET", "/client/tasks"],
    get: ["GET", "/client/tasks/:id"],
    cancel: ["POST", "/client/tasks/:id/cancel"]
  },
  taskGroups: {
    get: ["GET", "/client/task-groups/:id"],
    comparison: ["GET", "/client/task-groups/:id/comparison"],
    stop: ["POST", "/client/task-groups/:id/stop"],
    pause: ["POST", "/client/task-groups/:id/pause"],
    resume: ["POST", "/client/task-groups/:id/resume"],
    continue: ["POST", "/client/task-groups/:id/continue"]
  },
  runs: {
    list: ["GET", "/client/runs"],
    get: ["GET", "/client/runs/:id"],
    events: ["GET", "/client/runs/:id/events"],
    cancel: ["POST", "/client/runs/:id/cancel"],
    pause: ["POST", "/client/runs/:id/pause"],
    resume: ["POST", "/client/runs/:id/resume"],
    finish: ["POST", "/client/runs/:id/finish"],
    input: ["POST", "/client/runs/:id/input"],
    approvals: ["GET", "/client/runs/:id/approvals"],
    diff: ["GET", "/client/runs/:id/diff"],
    artifacts: ["GET", "/client/runs/:id/artifacts"],
    artifactContent: ["GET", "/client/runs/:id/artifacts/:artifactId/content", "bytes"],
    openPreview: ["POST", "/client/runs/:id/previews/:previewId/open"]
  },
  approvals: {
    list: ["GET", "/client/approvals"],
    get: ["GET", "/client/approvals/:id"],
    decide: ["POST", "/client/approvals/:id/decide"]
  },
  inputs: {
    list: ["GET", "/client/inputs"],
    get: ["GET", "/client/inputs/:id"],
    answer: ["POST", "/client/inputs/:id/answer"]
  },
  changeSets: {
    list: ["GET", "/client/changes"],
    get: ["GET", "/client/runs/:id/changes"],
    file: ["GET", "/client/runs/:id/changes/files/:fileId"],
    accept: ["POST", "/client/runs/:id/changes/accept"],
    reject: ["POST", "/client/runs/:id/changes/reject"],
    undo: ["POST", "/client/runs/:id/changes/undo"],
    ofSession: ["GET", "/client/sessions/:id/changes"],
    acceptInSession: ["POST", "/client/sessions/:id/changes/accept"],
    rejectInSession: ["POST", "/client/sessions/:id/changes/reject"],
    undoInSession: ["POST", "/client/sessions/:id/changes/undo"]
  },
  news: {
    follow: ["GET", "/client/news", "events"]
  },
  integrations: {
    event: ["POST", "/integrations/events"],
    bind: ["POST", "/integrations/bindings"],
    bindingUpdates: ["POST", "/integrations/bindings/updates"],
    unbind: ["POST", "/integrations/bindings/unbind"]
  },
  chatBindings: {
    list: ["GET", "/client/chat-bindings"],
    remove: ["DELETE", "/client/chat-bindings/:id"],
    look: ["POST", "/client/chat-links/look"],
    confirm: ["POST", "/client/chat-links/confirm"],
    refuse: ["POST", "/client/chat-links/refuse"]
  },
  preferences: {
    get: ["GET", "/client/preferences"],
    update: ["PATCH", "/client/preferences"]
  },
  usage: {
    report: ["GET", "/client/usage"],
    csv: ["GET", "/client/usage/csv", "bytes"],
    limits: ["GET", "/client/projects/:id/limits"],
    setLimit: ["PUT", "/client/projects/:id/limits/:subject"],
    removeLimit: ["DELETE", "/client/projects/:id/limits/:subject"]
  },
  audit: {
    list: ["GET", "/client/audit"],
    export: ["GET", "/client/audit/export", "bytes"],
    verify: ["GET", "/client/audit/verify"]
  }
} as const
