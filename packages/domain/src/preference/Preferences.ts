/**
 * Preferences of a user: one small document at the Hub, the same in every browser, chat and terminal of the user. Quiet hours are a time of each
 * day, in a time zone, in which no notification is sent. Time zones have their IANA names, such as `Europe/Berlin`, as far as this runtime has them.
 *
 * Does not: contain anything that a project, a run or another user depends on.
 */
import { Schema } from "effect"
import { timeOfDayIn } from "./ClockOfZone.ts"
import { RunMode } from "../approval/RunMode.ts"
import { AgentId, DeviceId, ProjectId, WorkspaceId } from "../identity/Ids.ts"
import { isStorableText } from "../text/Text.ts"
import { MAX_LAST_CHOICES } from "./ChangedPreferences.ts"

const isTimeZone = (name: string): boolean => {
  try {
    return timeOfDayIn(name, 0) !== ""
  } catch {
    return false
  }
}

export const TimeZone = Schema.String.check(
  Schema.isMaxLength(64),
  Schema.makeFilter(isTimeZone, { expected: "a time zone such as Europe/Berlin" })
)

const timeOfDay = Schema.String.check(
  Schema.isPattern(/^(?:[01]\d|2[0-3]):[0-5]\d$/, { expected: "a time of day such as 22:00" })
)

/** From `from` to before `to`, over midnight if `to` is the earlier one. */
export const QuietHours = Schema.Struct({ from: timeOfDay, to: timeOfDay, timeZone: TimeZone })
  .check(Schema.makeFilter(({ from, to }) => from !== to, { expected: "two different times" }))
  .annotate({ identifier: "QuietHours" })
export type QuietHours = typeof QuietHours.Type

/** Largest document, as JSON in UTF-8. */
export const MAX_PREFERENCES_BYTES = 16_384

export const Theme = Schema.Literals(["system", "light", "dark"])
export type Theme = typeof Theme.Type
/** Language of the console, and of cards and messages in chats. */
export const Language = Schema.Literals(["en", "zh"])
export type Language = typeof Language.Type
export const DiffLayout = Schema.Literals(["unified", "split"])
export type DiffLayout = typeof DiffLayout.Type

/** What the user chose last for new work in a project. Readers compare it with what is offered. */
export const LastChoice = Schema.Struct({
  projectId: ProjectId,
  targetId: Schema.optionalKey(DeviceId),
  workspace: Schema.optionalKey(WorkspaceId.check(isStorableText)),
  agentId: Schema.optionalKey(AgentId.check(isStorableText)),
  mode: Schema.optionalKey(RunMode),
  model: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(200), isStorableText))
}).annotate({ identifier: "LastChoice" })
export type LastChoice = typeof LastChoice.Type

const isOnePerProject = (choices: ReadonlyArray<LastChoice>): boolean =>
  choices.every(({ projectId }, at) => choices.findIndex((each) => each.projectId === projectId) === at)

const fields = {
  theme: Theme,
  language: Language,
  diffLayout: DiffLayout,
  /** `browser`: whether browsers notify, where they have the permission. */
  notifications: Schema.Struct({ browser: Schema.Boolean }),
  quietHours: QuietHours,
  /** One per project, the last used project first. */
  lastChoices: Schema.Array(LastChoice).check(
    Schema.isMaxLength(MAX_LAST_CHOICES),
    Schema.makeFilter(isOnePerProject, { expected: "one choice per project" })
  ),
  /** Whether single letters are shortcuts. */
  singleKeys: Schema.Boolean
}

/** The document. `version` is 0 before the first change, and grows with each change. A field that is absent has the client's default. */
export const Preferences = Schema.Struct({
  version: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  theme: Schema.optionalKey(fields.theme),
  language: Schema.optionalKey(fields.language),
  diffLayout: Schema.optionalKey(fields.diffLayout),
  notifications: Schema.optionalKey(fields.notifications),
  quietHours: Schema.optionalKey(fields.quietHours),
  lastChoices: Schema.optionalKey(fields.lastChoices),
  singleKeys: Schema.optionalKey(fields.singleKeys)
}).annotate({ identifier: "Preferences" })
export type Preferences = typeof Preferences.Type

/**
 * Body of PATCH /client/preferences. Replaces the fields that it has; `null` removes a field. With `version`, only that version of the document is
 * changed.
 */
export const UpdatePreferences = Schema.Struct({
  version: Schema.optionalKey(Preferences.fields.version),
  theme: Schema.optionalKey(Schema.NullOr(fields.theme)),
  language: Schema.optionalKey(Schema.NullOr(fields.language)),
  diffLayout: Schema.optionalKey(Schema.NullOr(fields.diffLayout)),
  notifications: Schema.optionalKey(Schema.NullOr(fields.notifications)),
  quietHours: Schema.optionalKey(Schema.NullOr(fields.quietHours)),
  lastChoices: Schema.optionalKey(Schema.NullOr(fields.lastChoices)),
  singleKeys: Schema.optionalKey(Schema.NullOr(fields.singleKeys))
}).annotate({ identifier: "UpdatePreferences" })
export type UpdatePreferences = typeof UpdatePreferences.Type

const readers = Object.entries(fields).map(([name, schema]) => [name, Schema.is(schema)] as const)

/** The fields that this version reads. Others, and values of a later version, are left out. */
export const readableFields = (stored: Readonly<Record<string, unknown>>): Omit<Preferences, "version"> =>
  Object.fromEntries(
    readers.flatMap(([name, isReadable]) => (isReadable(stored[name]) ? [[name, stored[name]]] : []))
  )

/** Fields of a change, without the version that it is for. */
export type PreferenceChanges = Omit<UpdatePreferences, "version">
