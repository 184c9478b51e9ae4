-- include: ledger, alerts, told_once
-- What is counted and nothing else, but for an alert of what is told once.
-- event: counted_as, alert_id, alert (JSON, '' for none)

local function noted(event)
  count_event(event.counted_as)
  if event.alert ~= '' and told_first_time(event.alert_id) then raise_alert('', event.alert_id, event.alert) end
end
