// Package layout is what cgo makes of the types of ternlease.h. It is for the tests, in whose files there is no cgo.
package layout

// #cgo pkg-config: ternlease
// #include <ternlease.h>
import "C"

import "reflect"

// Types are all types of the header that are no handles, by their names.
var Types = map[string]reflect.Type{
	"tern_trit_t":            reflect.TypeFor[C.tern_trit_t](),
	"tern_resource_t":        reflect.TypeFor[C.tern_resource_t](),
	"tern_lease_t":           reflect.TypeFor[C.tern_lease_t](),
	"tern_ticket_t":          reflect.TypeFor[C.tern_ticket_t](),
	"tern_watch_fn":          reflect.TypeFor[C.tern_watch_fn](),
	"tern_drop_fn":           reflect.TypeFor[C.tern_drop_fn](),
	"tern_progress_fn":       reflect.TypeFor[C.tern_progress_fn](),
	"tern_error_t":           reflect.TypeFor[C.tern_error_t](),
	"tern_options_t":         reflect.TypeFor[C.tern_options_t](),
	"tern_resource_info_t":   reflect.TypeFor[C.tern_resource_info_t](),
	"tern_lease_info_t":      reflect.TypeFor[C.tern_lease_info_t](),
	"tern_take_t":            reflect.TypeFor[C.tern_take_t](),
	"tern_ticket_info_t":     reflect.TypeFor[C.tern_ticket_info_t](),
	"tern_name_t":            reflect.TypeFor[C.tern_name_t](),
	"tern_text_t":            reflect.TypeFor[C.tern_text_t](),
	"tern_claim_t":           reflect.TypeFor[C.tern_claim_t](),
	"tern_event_t":           reflect.TypeFor[C.tern_event_t](),
	"tern_host_info_t":       reflect.TypeFor[C.tern_host_info_t](),
	"tern_process_info_t":    reflect.TypeFor[C.tern_process_info_t](),
	"tern_wait_t":            reflect.TypeFor[C.tern_wait_t](),
	"tern_pool_options_t":    reflect.TypeFor[C.tern_pool_options_t](),
	"tern_device_t":          reflect.TypeFor[C.tern_device_t](),
	"tern_device_status_t":   reflect.TypeFor[C.tern_device_status_t](),
	"tern_process_t":         reflect.TypeFor[C.tern_process_t](),
	"tern_gpu_claim_t":       reflect.TypeFor[C.tern_gpu_claim_t](),
	"tern_device_speed_t":    reflect.TypeFor[C.tern_device_speed_t](),
	"tern_cost_t":            reflect.TypeFor[C.tern_cost_t](),
	"tern_estimate_t":        reflect.TypeFor[C.tern_estimate_t](),
	"tern_task_t":            reflect.TypeFor[C.tern_task_t](),
	"tern_machine_options_t": reflect.TypeFor[C.tern_machine_options_t](),
	"tern_machine_info_t":    reflect.TypeFor[C.tern_machine_info_t](),
	"tern_rate_t":            reflect.TypeFor[C.tern_rate_t](),
	"tern_route_t":           reflect.TypeFor[C.tern_route_t](),
	"tern_verdict_t":         reflect.TypeFor[C.tern_verdict_t](),
	"tern_advice_t":          reflect.TypeFor[C.tern_advice_t](),
	"tern_status_t":          reflect.TypeFor[C.tern_status_t](),
	"tern_reason_t":          reflect.TypeFor[C.tern_reason_t](),
	"tern_reason_class_t":    reflect.TypeFor[C.tern_reason_class_t](),
	"tern_event_kind_t":      reflect.TypeFor[C.tern_event_kind_t](),
	"tern_life_t":            reflect.TypeFor[C.tern_life_t](),
	"tern_vendor_t":          reflect.TypeFor[C.tern_vendor_t](),
	"tern_kind_t":            reflect.TypeFor[C.tern_kind_t](),
	"tern_machine_class_t":   reflect.TypeFor[C.tern_machine_class_t](),
	"tern_network_t":         reflect.TypeFor[C.tern_network_t](),
	"tern_rate_of_t":         reflect.TypeFor[C.tern_rate_of_t](),
	"tern_source_t":          reflect.TypeFor[C.tern_source_t](),
	"tern_route_known_t":     reflect.TypeFor[C.tern_route_known_t](),
	"tern_answer_t":          reflect.TypeFor[C.tern_answer_t](),
	"tern_obstacle_t":        reflect.TypeFor[C.tern_obstacle_t](),
	"tern_bottleneck_t":      reflect.TypeFor[C.tern_bottleneck_t](),
	"tern_choice_t":          reflect.TypeFor[C.tern_choice_t](),
	"tern_expected_wait_t":   reflect.TypeFor[C.tern_expected_wait_t](),
}
