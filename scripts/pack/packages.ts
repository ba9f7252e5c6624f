/** Packages that people install, with their public modules. Everything else is internal and not exported. */

export interface Packed {
  /** Folder below `packages`, and name after `@corral/`. */
  readonly name: string
  /** Public modules, as paths below `src`. `"all"`: each module is part of the vocabulary. */
  readonly modules: ReadonlyArray<string> | "all"
  /** Modules that are loaded by address: threads. */
  readonly started?: ReadonlyArray<string>
  /** Folders beside `lib` that its modules read. */
  readonly folders?: ReadonlyArray<string>
}

export const packed: ReadonlyArray<Packed> = [
  { name: "domain", modules: "all" },
  { name: "redaction", modules: ["Redaction"] },
  {
    name: "client",
    modules: [
      "Edge",
      "Hub",
      "effect/ClientFailure",
      "effect/EdgeEffects",
      "effect/EffectCalls",
      "effect/EventStreams",
      "effect/HubEffects",
      "http/CorralError",
      "http/Transport",
      "run/EventFields",
      "stream/Reconnection",
      "stream/RunEvents"
    ]
  },
  {
    name: "adapters",
    modules: [
      "Acp",
      "acp/AcpAgent",
      "ClaudeCode",
      "Codex",
      "CommandLine",
      "Copilot",
      "Gemini",
      "JsonMapping",
      "OpenCode",
      "OutputDecoder",
      "Pi",
      "ProjectFiles",
      "Qwen",
      "Registry",
      "Scripted",
      "scriptedProgram",
      "Text",
      "files/InputPaths",
      "files/RelativePath",
      "openCodeBridge",
      "output/OutputCollector",
      "text/Json",
      "text/JsonLines",
      "text/Lines"
    ],
    folders: ["runtime"]
  },
  {
    name: "conformance",
    modules: ["CheckModule", "Conformance", "Recordings", "Replay", "Rules", "TestAdapter"],
    started: ["CheckWorker"]
  },
  {
    name: "edge",
    modules: [
      "Edge",
      "EdgeSettings",
      "EmbeddedEdge",
      "openEdge",
      "approval/EdgeApprovalPolicy",
      "approval/Grants",
      "artifact/Artifacts",
      "EdgeConfigCheck",
      "LocalToken",
      "config/EdgeConfig",
      "config/WorkspaceEntries",
      "http/Server",
      "log/EdgeEventLog",
      "log/EdgeLogSource",
      "log/EventSink",
      "preview/Previews",
      "run/RunSupervisor",
      "runtime/RuntimeRegistry",
      "runtime/Presets",
      "runtime/Runtimes",
      "store/EdgeStorage",
      "store/HomeLock",
      "store/Store",
      "workspace/WorkspaceSource",
      "workspace/Workspaces",
      "workspace/Worktrees"
    ],
    started: ["store/Writer", "runtime/AdapterWorker", "process/SearchWorker", "holder/main"]
  },
  {
    name: "hub",
    modules: ["Hub", "HubSettings", "config/HubConfig", "http/Server"]
  },
  {
    name: "gateway",
    modules: ["Gateway", "GatewayConfig", "GatewaySettings", "http/Server"]
  }
]
