/**
 * Page of a device's profiles and runners, as its Edge has them, for the device's owner: a list, and forms that add, change and remove profiles that
 * narrow an adapter.
 *
 * *Does not:* show or change other settings. The device does not send them to a Hub.
 */
import type { Agent } from "@corral/domain/run/Agent"
import type { DeviceId } from "@corral/domain/identity/Ids"
import type { Preset } from "@corral/domain/run/Preset"
import { RunMode } from "@corral/domain/run/Run"
import { useQueryClient } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useDevice, useTargets } from "../api/ProjectsAndTargets.ts"
import { hubApi, useIdempotencyKey } from "../api/Hub.ts"
import { useList } from "../api/Lists.ts"
import { visibleLine } from "../markdown/visible.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog, FormDialog, useAction } from "../ui/Dialogs.tsx"
import { Field, optionalField, textIn } from "../ui/Field.tsx"
import { ListMore } from "../ui/ListStates.tsx"
import { uiMessages } from "../ui/messages.ts"
import { PageFrame } from "../ui/PageFrame.tsx"
import { RowMain, RowMenu, RowMenuItem } from "../ui/Row.tsx"
import { deviceMessages } from "./messages.ts"

/** Modes of a profile, which limits its adapter. */
const modes = RunMode.literals.filter((mode) => mode !== "full_access")

/** A setting of a preset; "" if it has none. Settings come from the device. */
const settingOf = ({ settings }: Preset, name: string): string =>
  typeof settings[name] === "string" ? settings[name] : ""

const isMode = (text: string): text is RunMode => RunMode.literals.some((mode) => mode === text)

interface FieldsProps {
  readonly adapters: ReadonlyArray<Agent>
  /** The profile that the form changes. */
  readonly preset?: Preset
}

/** Fields of a profile. The adapter of a profile that the device does not list stays selectable. */
const PresetFields = ({ adapters, preset }: FieldsProps) => {
  const messages = useMessages(deviceMessages)
  const { modes: modeNames } = useMessages(uiMessages)
  const current = preset === undefined ? "" : settingOf(preset, "adapter")
  const listed = adapters.map(({ id, label }) => ({ id: String(id), label }))
  const choices =
    current === "" || listed.some(({ id }) => id === current)
      ? listed
      : [{ id: current, label: current }, ...listed]
  return (
    <>
      <Field label={messages.presetLabel}>
        <input
          name="label"
          required
          maxLength={100}
          defaultValue={preset && settingOf(preset, "label")}
          autoComplete="off"
        />
      </Field>
      <Field label={messages.adapter} hint={messages.adapterHint}>
        <select name="adapter" required defaultValue={current === "" ? choices[0]?.id : current}>
          {choices.map(({ id, label }) => (
            <option key={id} value={id}>
              {visibleLine(label, 60)}
            </option>
          ))}
        </select>
      </Field>
      <Field label={messages.widestMode} hint={messages.widestModeHint}>
        <select
          name="mode"
          defaultValue={preset === undefined ? "ask" : settingOf(preset, "mode") || "auto_edit"}
        >
          {modes.map((mode) => (
            <option key={mode} value={mode}>
              {modeNames[mode]}
            </option>
          ))}
        </select>
      </Field>
      <Field label={messages.model} hint={messages.modelHint}>
        <input
          name="model"
          maxLength={256}
          defaultValue={preset && settingOf(preset, "model")}
          autoComplete="off"
        />
      </Field>
    </>
  )
}

const settingsIn = (form: FormData) => ({
  label: textIn(form, "label"),
  adapter: textIn(form, "adapter"),
  mode: textIn(form, "mode")
})

interface PresetProps {
  readonly deviceId: DeviceId
  readonly adapters: ReadonlyArray<Agent>
  /** Reads the list again. */
  readonly onChanged: () => Promise<void>
}

const AddPreset = ({ adapters, deviceId, onChanged }: PresetProps) => {
  const messages = useMessages(deviceMessages)
  const keyOf = useIdempotencyKey()
  const create = async (form: FormData): Promise<void> => {
    const settings = { ...settingsIn(form), ...optionalField(form, "model") }
    const payload = { id: textIn(form, "id"), kind: "profile" as const, settings }
    await hubApi.presets.create({ params: { id: deviceId }, headers: keyOf(payload), payload })
    await onChanged()
  }
  return (
    <FormDialog
      trigger={messages.addPreset}
      triggerClass="button primary"
      title={messages.addPreset}
      submit={messages.addPreset}
      onSubmit={create}
    >
      <Field label={messages.presetId} hint={messages.presetIdHint}>
        <input name="id" required maxLength={128} autoComplete="off" spellCheck={false} />
      </Field>
      <PresetFields adapters={adapters} />
    </FormDialog>
  )
}

const PresetMenu = ({ adapters, deviceId, onChanged, preset }: PresetProps & { readonly preset: Preset }) => {
  const messages = useMessages(deviceMessages)
  const [change, removal] = [useAction(), useAction()]
  const name = settingOf(preset, "label")
  const params = { id: deviceId, presetId: preset.id }
  const update = async (form: FormData): Promise<void> => {
    const model = textIn(form, "model")
    const settings = { ...settingsIn(form), model: model === "" ? null : model }
    await hubApi.presets.update({ params, payload: { settings } })
    await onChanged()
  }
  const remove = async (): Promise<void> => {
    await hubApi.presets.remove({ params })
    await onChanged()
  }
  return (
    <>
      <RowMenu of={name} id={preset.id}>
        {preset.editable && (
          <>
            <RowMenuItem icon="edit" onSelect={() => change.setOpen(true)}>
              {messages.changePreset}
            </RowMenuItem>
            <RowMenuItem icon="remove" onSelect={() => removal.setOpen(true)}>
              {messages.remove}
            </RowMenuItem>
          </>
        )}
      </RowMenu>
      <FormDialog action={change} title={messages.changePreset} submit={messages.save} onSubmit={update}>
        <PresetFields adapters={adapters} preset={preset} />
      </FormDialog>
      <ConfirmDialog
        action={removal}
        title={messages.removeTitle(name)}
        confirm={messages.remove}
        onConfirm={remove}
      >
        {messages.removePresetText}
      </ConfirmDialog>
    </>
  )
}

const PresetRow = (props: PresetProps & { readonly preset: Preset }) => {
  const messages = useMessages(deviceMessages)
  const { modes: modeNames } = useMessages(uiMessages)
  const { preset } = props
  const mode = settingOf(preset, "mode")
  const limits = [
    preset.id,
    preset.kind === "runner" ? messages.runner : settingOf(preset, "adapter"),
    isMode(mode) ? modeNames[mode] : "",
    settingOf(preset, "model")
  ]
  const place =
    preset.source === "file" ? messages.inFile : preset.editable ? undefined : messages.onDeviceOnly
  return (
    <li className="row">
      <RowMain name={visibleLine(settingOf(preset, "label"), 100)}>
        <bdi>
          {limits
            .filter((part) => part !== "")
            .map((part) => visibleLine(part, 80))
            .join(" · ")}
        </bdi>
        {place !== undefined && (
          <>
            <br />
            {place}
          </>
        )}
        {preset.problem !== undefined && (
          <>
            <br />
            <bdi>{visibleLine(preset.problem, 300)}</bdi>
          </>
        )}
      </RowMain>
      <div className="row-side">
        <PresetMenu {...props} />
      </div>
    </li>
  )
}

export const DevicePresetsPage = ({ deviceId: id }: { readonly deviceId: string }) => {
  const messages = useMessages(deviceMessages)
  const deviceId = id as DeviceId // the Hub checks it
  const client = useQueryClient()
  const device = useDevice(deviceId)
  const agents = useTargets().find((target) => target.id === deviceId)?.agents ?? []
  const list = useList(["presets", deviceId], ({ page, signal }) =>
    hubApi.presets.list({ params: { id: deviceId }, query: page, signal })
  )
  const props = {
    deviceId,
    adapters: agents.filter((agent) => String(agent.id) === agent.runtime),
    onChanged: () => client.invalidateQueries({ queryKey: ["presets", deviceId] })
  }
  return (
    <PageFrame
      title={device === undefined ? messages.presets : messages.presetsOf(device.name)}
      above={
        <Link to="/devices" activeOptions={{ exact: true }}>
          {messages.title}
        </Link>
      }
      actions={list.error === null && !list.isLoading && <AddPreset {...props} />}
    >
      <p className="page-hint">{messages.presetsHint}</p>
      {list.items.length > 0 && (
        <ul className="rows" aria-label={messages.presets}>
          {list.items.map((preset) => (
            <PresetRow key={`${preset.source} ${preset.id}`} {...props} preset={preset} />
          ))}
        </ul>
      )}
      <ListMore list={list} empty={<p>{messages.noPresets}</p>} />
    </PageFrame>
  )
}
